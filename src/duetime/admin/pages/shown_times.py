"""Instants and durations as people read them, in English and French."""

from __future__ import annotations

from datetime import datetime, timedelta

from duetime.admin.pages.languages import Language
from duetime.admin.pages.reader_zones import ReaderZone

# Seconds of each unit, with its name for one and for several.
UNITS = (
    (31_536_000, ("year", "years"), ("an", "ans")),
    (2_592_000, ("month", "months"), ("mois", "mois")),
    (86_400, ("day", "days"), ("jour", "jours")),
    (3600, ("hour", "hours"), ("heure", "heures")),
    (60, ("minute", "minutes"), ("minute", "minutes")),
    (1, ("second", "seconds"), ("seconde", "secondes")),
)


def exact_time(instant: datetime, zone: ReaderZone) -> str:
    """Return an instant to the second, with its zone."""
    local = zone.local(instant)
    return f"{local:%Y-%m-%d %H:%M:%S} {local:%Z}"


def relative_time(instant: datetime, now: datetime, language: Language) -> str:
    """Return how long ago an instant was, or in how long it will be."""
    seconds = (instant - now) // timedelta(seconds=1)
    words = _words(abs(seconds), language)
    if language == "fr":
        return f"dans {words}" if seconds >= 0 else f"il y a {words}"
    return f"in {words}" if seconds >= 0 else f"{words} ago"


def duration(seconds: float, language: Language) -> str:
    """Return a duration with two digits that count, or in its largest units."""
    if seconds < 1:
        return _decimal(f"{seconds * 1000:.3g} ms", language)
    if seconds < 60:
        return _decimal(f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s", language)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    day = "j" if language == "fr" else "d"
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} {day} {hours % 24} h"


def _words(seconds: int, language: Language) -> str:
    for size, english, french in UNITS:
        if seconds >= size or size == 1:
            count = seconds // size
            one, several = french if language == "fr" else english
            alone = count < 2 if language == "fr" else count == 1
            return f"{count} {one if alone else several}"
    raise LookupError("every duration has a unit")


def _decimal(text: str, language: Language) -> str:
    return text.replace(".", ",") if language == "fr" else text
