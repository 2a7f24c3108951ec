"""Words of charts and values, in each language; for actions and runs, feminine in French."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from duetime.admin.pages.formats.numbers import CountedNoun, is_singular
from duetime.admin.pages.languages import Language
from duetime.model.state import Outcome, State


class Wording(NamedTuple):
    """A text in each language; `{names}` are filled in."""

    en: str
    fr: str

    def to(self, language: Language, **values: object) -> str:
        text = self.fr if language == "fr" else self.en
        return text.format(**values) if values else text


def agreeing(phrase: Wording, count: int, language: Language) -> str:
    """Return the word for so many: participles have a plural in French, and none in English."""
    word = phrase.to(language)
    return word if language == "en" or is_singular(count, language) else f"{word}s"


STATES: Mapping[State, Wording] = {
    State.scheduled: Wording("scheduled", "planifiée"),
    State.running: Wording("running", "en cours"),
    State.succeeded: Wording("succeeded", "réussie"),
    State.failed: Wording("failed", "échouée"),
    State.cancelled: Wording("cancelled", "annulée"),
}
OUTCOMES: Mapping[Outcome, Wording] = {
    Outcome.succeeded: Wording("succeeded", "réussie"),
    Outcome.failed: Wording("failed", "échouée"),
    Outcome.retried: Wording("retried", "réessayée"),
    Outcome.snoozed: Wording("snoozed", "repoussée"),
    Outcome.cancelled: Wording("cancelled", "annulée"),
    Outcome.skipped: Wording("skipped", "sautée"),
    Outcome.released: Wording("released", "rendue"),
    Outcome.lost: Wording("lost", "perdue"),
}
OTHER = Wording("other", "autre")
LATE = Wording("late", "en retard")
NOW = Wording("now", "maintenant")
NOTHING_YET = Wording("nothing yet", "rien pour l'instant")
AND_MORE = Wording("and {count} more", "et {count} de plus")
# `:` after a word stands apart in French.
LABELLED = Wording("{label}: {text}", "{label}\u00a0: {text}")
RUNS: dict[Language, CountedNoun] = {
    "en": CountedNoun("run", "runs"),
    "fr": CountedNoun("exécution", "exécutions"),
}
