"""Durations, and distances from now, as each language writes them."""

from __future__ import annotations

import math
from typing import NamedTuple

from duetime.admin.pages.formats.numbers import CountedNoun, counted
from duetime.admin.pages.languages import Language
from duetime.words.habits import DAY, HOUR, MINUTE, NO_NUMBER, duration_text, with_unit
from duetime.words.languages import language_of

# Months and years of a distance are rough: it is about, not exactly, three months.
MONTH, YEAR = 30.4375 * DAY, 365.25 * DAY

DAYS: dict[Language, CountedNoun] = {
    "en": CountedNoun("day", "days"),
    "fr": CountedNoun("jour", "jours"),
}
MONTHS: dict[Language, CountedNoun] = {
    "en": CountedNoun("month", "months"),
    "fr": CountedNoun("mois", "mois"),
}
YEARS: dict[Language, CountedNoun] = {
    "en": CountedNoun("year", "years"),
    "fr": CountedNoun("an", "ans"),
}


class DistanceWords(NamedTuple):
    """How a distance from now is said."""

    now: str
    future: str
    past: str


DISTANCES: dict[Language, DistanceWords] = {
    "en": DistanceWords("now", "in {}", "{} ago"),
    "fr": DistanceWords("maintenant", "dans {}", "il y a {}"),
}


def duration(seconds: float, language: Language) -> str:
    return duration_text(seconds, language_of(language).habits)


def relative(seconds: float, language: Language) -> str:
    """Where a distance from now leads: `in 3 min`, `2 h ago`; `dans 3 min`, `il y a 2 h`."""
    if not math.isfinite(seconds):
        return NO_NUMBER
    words = DISTANCES[language]
    size = abs(seconds)
    if size < 0.5:
        return words.now
    return (words.future if seconds > 0 else words.past).format(_distance(size, language))


def distance_words(language: Language) -> str:
    """Return the words of `relative` for scripts: now, future, past, and the counted nouns."""
    nouns = (form for noun in (DAYS, MONTHS, YEARS) for form in noun[language])
    return "|".join((*DISTANCES[language], *nouns))


def _distance(seconds: float, language: Language) -> str:
    if seconds < 59.5:
        return with_unit(str(round(seconds)), "s")
    if seconds < HOUR - MINUTE / 2:
        return with_unit(str(round(seconds / MINUTE)), "min")
    if seconds < DAY - HOUR / 2:
        return with_unit(str(round(seconds / HOUR)), "h")
    if seconds < 60 * DAY:
        return counted(round(seconds / DAY), DAYS[language], language)
    if seconds < 2 * YEAR - MONTH / 2:
        return counted(round(seconds / MONTH), MONTHS[language], language)
    return counted(round(seconds / YEAR), YEARS[language], language)
