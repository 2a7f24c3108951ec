"""Instants as readers see them: in their zone, which is named, by the habits of their language."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from duetime.admin.pages.formats.numbers import DECIMAL_MARKS
from duetime.admin.pages.languages import Language
from duetime.model.clock import from_micros, nearest_micros, to_micros

MONTHS_SHORT: dict[Language, tuple[str, ...]] = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "fr": (
        *("janv.", "févr.", "mars", "avr.", "mai", "juin"),
        *("juil.", "août", "sept.", "oct.", "nov.", "déc."),
    ),
}
WEEKDAYS_SHORT: dict[Language, tuple[str, ...]] = {
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "fr": ("lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."),
}


def exact(instant: datetime, zone: tzinfo, language: Language) -> str:
    """`Sun 14 Jun 2026, 14:02:00.25 Europe/Paris (UTC+2)`: nothing is left to guess, also not
    which of the two hours between which a clock is set back."""
    local = local_time(instant, zone)
    day = f"{WEEKDAYS_SHORT[language][local.weekday()]} {day_of(instant, zone, language)}"
    fraction = f"{local.microsecond:06}".rstrip("0")
    mark = DECIMAL_MARKS[language] if fraction else ""
    return f"{day}, {local:%H:%M:%S}{mark}{fraction} {_zone_at(local, zone)}"


def short(instant: datetime, now: datetime, zone: tzinfo, language: Language) -> str:
    """`14:02:05` today, `3 May, 14:02` on another day of this year, else with the year."""
    local, today = local_time(instant, zone), local_time(now, zone)
    if local.date() == today.date():
        return clock_time(instant, zone, seconds=True)
    return f"{day_of(instant, zone, language, now)}, {clock_time(instant, zone)}"


def day_of(instant: datetime, zone: tzinfo, language: Language, now: datetime | None = None) -> str:
    """`14 Jun 2026`, `14 juin 2026`; without the year if it is that of `now`."""
    local = local_time(instant, zone)
    number = "1er" if local.day == 1 and language == "fr" else str(local.day)
    day = f"{number} {MONTHS_SHORT[language][local.month - 1]}"
    if now is not None and local_time(now, zone).year == local.year:
        return day
    return f"{day} {local.year}"


def clock_time(instant: datetime, zone: tzinfo, *, seconds: bool = False) -> str:
    local = local_time(instant, zone)
    return f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"


def local_time(instant: datetime, zone: tzinfo) -> datetime:
    """Return an instant in a zone; at the ends of the calendar, the nearest that all have."""
    return from_micros(nearest_micros(to_micros(instant))).astimezone(zone)


def _zone_at(local: datetime, zone: tzinfo) -> str:
    """`Europe/Paris (UTC+2)`; only the offset of a zone that has no other name."""
    name, offset = getattr(zone, "key", None), _offset(local)
    return offset if name in (None, offset) else f"{name} ({offset})"


def _offset(local: datetime) -> str:
    """`UTC+2`, `UTC-3:30`, `UTC`."""
    offset = local.utcoffset() or timedelta()
    minutes, seconds = divmod(round(abs(offset).total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [str(hours)]
    if minutes or seconds:
        parts.append(f"{minutes:02}")
    if seconds:
        parts.append(f"{seconds:02}")
    sign = "-" if offset < timedelta() else "+"
    return f"UTC{sign}{':'.join(parts)}" if offset else "UTC"
