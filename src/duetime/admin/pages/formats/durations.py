"""Durations, and distances from now, as each language writes them."""

from __future__ import annotations

import math
from typing import NamedTuple

from duetime.admin.pages.formats.numbers import (
    NOTHING,
    CountedNoun,
    counted,
    decimal,
    whole,
    with_unit,
)
from duetime.admin.pages.languages import Language

MINUTE, HOUR, DAY = 60, 3600, 86_400
# Months and years of a distance are rough: it is about, not exactly, three months.
MONTH, YEAR = 30.4375 * DAY, 365.25 * DAY

DAYS_SHORT: dict[Language, str] = {"en": "d", "fr": "j"}
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
    """`2.4 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`, `3 d 4 h`; in French `2,4 ms` and `3 j 4 h`."""
    if not math.isfinite(seconds):
        return NOTHING
    size = _size(abs(seconds), language)
    return f"-{size}" if seconds < 0 and size != _size(0, language) else size


def relative(seconds: float, language: Language) -> str:
    """Where a distance from now leads: `in 3 min`, `2 h ago`; `dans 3 min`, `il y a 2 h`."""
    if not math.isfinite(seconds):
        return NOTHING
    words = DISTANCES[language]
    size = abs(seconds)
    if size < 0.5:
        return words.now
    return (words.future if seconds > 0 else words.past).format(_distance(size, language))


def distance_words(language: Language) -> str:
    """Return the words of `relative` for scripts: now, future, past, and the counted nouns."""
    nouns = (form for noun in (DAYS, MONTHS, YEARS) for form in noun[language])
    return "|".join((*DISTANCES[language], *nouns))


def _size(seconds: float, language: Language) -> str:
    # Each limit is where rounding reaches the next unit: 59.97 s are 1 min.
    if seconds < 0.0995:
        return with_unit(decimal(seconds * 1000, 1 if seconds >= 0.00095 else 2, language), "ms")
    if seconds < 0.9995:
        return with_unit(whole(round(seconds * 1000), language), "ms")
    if seconds < 9.95:
        return with_unit(decimal(seconds, 1, language), "s")
    if seconds < 59.5:
        return with_unit(whole(round(seconds), language), "s")
    if seconds < HOUR - 0.5:
        return _two_units(round(seconds), 60, "min", "s", language)
    if seconds < DAY - MINUTE / 2:
        return _two_units(round(seconds / MINUTE), 60, "h", "min", language)
    return _two_units(round(seconds / HOUR), 24, DAYS_SHORT[language], "h", language)


def _two_units(count: int, per_large: int, large: str, small: str, language: Language) -> str:
    """`3 min 4 s`; `3 min` where nothing is left."""
    many, rest = divmod(count, per_large)
    text = with_unit(whole(many, language), large)
    return with_unit(text, with_unit(str(rest), small)) if rest else text


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
