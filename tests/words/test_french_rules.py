"""Rules in French."""

import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given

from duetime import Cron, Every, Recurrence
from duetime.errors import InvalidArgument, InvalidRecurrence
from duetime.model.recurrence.serialize import from_text
from duetime.model.recurrence.within import Within
from duetime.words.fr.zones import PLACES
from model.cron_random import draw
from model.rules import RULES, no_deadline

GOLDEN = [
    json.loads(line)
    for line in Path(__file__).with_name("rules.jsonl").read_text(encoding="utf-8").splitlines()
]
# The words of the English grammar, except those that are French words too: minutes, on.
ENGLISH = """
at and every day days hour hours seconds second of from to the month it is also or if last before
weekday nearest first third fourth fifth in except until counted more fixed times week weeks january
february march april may june july august september october november december sunday monday tuesday
wednesday thursday friday saturday nd rd th
"""
ENGLISH_WORDS = set(ENGLISH.split())


@pytest.mark.parametrize("line", GOLDEN, ids=lambda line: line["en"])
def test_words_of_rules(line: dict[str, str]) -> None:
    rule = from_text(line["rule"], line["tz"])
    assert rule.describe() == line["en"]
    assert rule.describe("en") == line["en"]
    assert rule.describe("fr") == line["fr"]


@no_deadline
@given(RULES)
def test_every_rule_has_words_and_none_is_english(rule: Recurrence) -> None:
    assert english_in(rule.describe("fr")) == set()


def test_every_expression_has_words_and_none_is_english() -> None:
    for cron in drawn(2000):
        words = cron.describe("fr")
        assert english_in(words) == set()
        assert "  " not in words
        assert not re.search(r"\b(de [aeiouhéè]|(le le|à le|de le|de les|à les)\b)", words)


def test_what_english_distinguishes_french_does_too() -> None:
    english: dict[str, str] = {}
    golden = [from_text(line["rule"], line["tz"]) for line in GOLDEN]
    for rule in [*golden, *drawn(4000)]:
        assert english.setdefault(rule.describe("fr"), rule.describe()) == rule.describe()


def test_no_two_zones_share_their_words() -> None:
    assert len(set(PLACES.values())) == len(PLACES)


def test_a_rule_that_begins_and_ends() -> None:
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    assert Within(Every(hours=1), start, end).describe("fr") == (
        "toutes les heures, à partir du 1er janvier 2026 à 00:00 UTC, "
        "jusqu'au 31 décembre 2026 à 23:59 UTC"
    )
    assert Within(Every(hours=1)).describe("fr") == "toutes les heures"


def test_a_language_that_there_is_not() -> None:
    with pytest.raises(InvalidArgument, match="language='de'"):
        Every(hours=1).describe("de")


def drawn(count: int) -> list[Cron]:
    chance = random.Random(11)
    found = []
    for _ in range(count):
        try:
            found.append(Cron(draw(chance).text, tz="Europe/Paris"))
        except InvalidRecurrence:
            continue
    return found


def english_in(words: str) -> set[str]:
    """The English words, outside of zones, which have names of their own."""
    without_zones = re.sub(r"fuseau \S+", "", words)
    return set(re.findall(r"[^\W\d_]+", without_zones.lower())) & ENGLISH_WORDS
