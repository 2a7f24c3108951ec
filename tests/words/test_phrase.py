"""Phrases: English texts that know what they were made of."""

import copy
import json
import pickle
from datetime import UTC, datetime

import pytest

from duetime.errors import InvalidArgument
from duetime.words.languages import name_of, said
from duetime.words.phrase import joined, phrase, with_hint

RESUME = "resume it: `duetime queues resume {queue}`"


def test_a_phrase_is_its_english_text() -> None:
    text = phrase(RESUME, queue="mail")
    assert text == "resume it: `duetime queues resume mail`"
    assert json.dumps(text) == json.dumps(str(text))
    assert said(text, "en") == text


@pytest.mark.parametrize("again", [copy.deepcopy, lambda text: pickle.loads(pickle.dumps(text))])
def test_a_copy_can_still_be_said(again) -> None:  # type: ignore[no-untyped-def]
    text = again(phrase(RESUME, queue="mail"))
    assert said(text, "fr") == "reprenez-la\N{NO-BREAK SPACE}: `duetime queues resume mail`"


def test_phrases_within_phrases_are_said_too() -> None:
    late = phrase("it is due at {at}, in {left}", at=datetime(2026, 3, 1, 2, tzinfo=UTC), left="?")
    both = joined([late, phrase("no job")])
    assert both == "it is due at 2026-03-01T02:00:00+00:00, in ?; no job"
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert said(both, "fr") == (
        f"elle est prévue le 1er mars 2026 à 02:00 UTC, dans ?{thin}; aucune tâche"
    )


def test_values_are_never_taken_for_templates() -> None:
    text = phrase("{text}: {error}", text="{count:,} job", error="no job {0} {x}")
    assert text == "{count:,} job: no job {0} {x}"
    assert said(text, "fr") == "{count:,} job\N{NO-BREAK SPACE}: no job {0} {x}"


def test_a_text_without_words_in_a_language_stays_as_it_is() -> None:
    assert said("a stranger's {text}", "fr") == "a stranger's {text}"
    assert said(phrase("no such template {x}", x=1), "fr") == "no such template 1"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 action"),
        (1, "1 action"),
        (2, "2 actions"),
        (1234, "1\N{NARROW NO-BREAK SPACE}234 actions"),
    ],
)
def test_plurals_and_numbers(count: int, words: str) -> None:
    assert said(phrase("{count:,} actions", count=count), "fr") == words


def test_a_hint_is_part_of_the_phrase() -> None:
    text = with_hint(phrase("is not valid"), "MOM", ["MON", "TUE"])
    assert text == "is not valid (did you mean 'MON'?)"
    assert said(text, "fr").startswith("n'est pas valable (vouliez-vous dire «")
    assert with_hint(phrase("is not valid"), "?", ["MON"]) == "is not valid"


def test_a_language_that_there_is_not() -> None:
    with pytest.raises(InvalidArgument, match="language='de' is not valid: give one of en, fr"):
        said("text", "de")


def test_names() -> None:
    assert name_of("state", "failed", "fr") == "échouée"
    assert name_of("state", "failed", "en") == "failed"
    assert name_of("state", "a later state", "fr") == "a later state"
