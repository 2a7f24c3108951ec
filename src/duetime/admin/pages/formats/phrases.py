"""Words of charts and values, in each language; for actions and runs, feminine in French."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from duetime.admin.pages.formats.numbers import CountedNoun, is_singular
from duetime.admin.pages.languages import Language
from duetime.model.state import Outcome, State


class Phrase(NamedTuple):
    """A text in each language; `{names}` are filled in."""

    en: str
    fr: str

    def to(self, language: Language, **values: object) -> str:
        text = self.fr if language == "fr" else self.en
        return text.format(**values) if values else text


def agreeing(phrase: Phrase, count: int, language: Language) -> str:
    """Return the word for so many: participles have a plural in French, and none in English."""
    word = phrase.to(language)
    return word if language == "en" or is_singular(count, language) else f"{word}s"


STATES: Mapping[State, Phrase] = {
    State.scheduled: Phrase("scheduled", "planifiée"),
    State.running: Phrase("running", "en cours"),
    State.succeeded: Phrase("succeeded", "réussie"),
    State.failed: Phrase("failed", "échouée"),
    State.cancelled: Phrase("cancelled", "annulée"),
}
OUTCOMES: Mapping[Outcome, Phrase] = {
    Outcome.succeeded: Phrase("succeeded", "réussie"),
    Outcome.failed: Phrase("failed", "échouée"),
    Outcome.retried: Phrase("retried", "réessayée"),
    Outcome.snoozed: Phrase("snoozed", "repoussée"),
    Outcome.cancelled: Phrase("cancelled", "annulée"),
    Outcome.skipped: Phrase("skipped", "sautée"),
    Outcome.released: Phrase("released", "rendue"),
    Outcome.lost: Phrase("lost", "perdue"),
}
OTHER = Phrase("other", "autre")
LATE = Phrase("late", "en retard")
NOW = Phrase("now", "maintenant")
NOTHING_YET = Phrase("nothing yet", "rien pour l'instant")
AND_MORE = Phrase("and {count} more", "et {count} de plus")
# `:` after a word stands apart in French.
LABELLED = Phrase("{label}: {text}", "{label}\u00a0: {text}")
RUNS: dict[Language, CountedNoun] = {
    "en": CountedNoun("run", "runs"),
    "fr": CountedNoun("exécution", "exécutions"),
}
