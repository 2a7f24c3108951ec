"""Instants as readers see them: in their zone, which is named, by the habits of their language."""

from __future__ import annotations

from datetime import datetime, tzinfo

from duetime.admin.pages.languages import Language
from duetime.model.clock import from_micros, nearest_micros, to_micros
from duetime.words.habits import day_text, exact_instant
from duetime.words.languages import language_of


def exact(instant: datetime, zone: tzinfo, language: Language) -> str:
    """`Sun 14 Jun 2026, 14:02:00.25 Europe/Paris (UTC+2)`."""
    return exact_instant(local_time(instant, zone), language_of(language).habits)


def short(instant: datetime, now: datetime, zone: tzinfo, language: Language) -> str:
    """`14:02:05` today, `3 May, 14:02` on another day of this year, else with the year."""
    local, today = local_time(instant, zone), local_time(now, zone)
    if local.date() == today.date():
        return clock_time(instant, zone, seconds=True)
    return f"{day_of(instant, zone, language, now)}, {clock_time(instant, zone)}"


def day_of(instant: datetime, zone: tzinfo, language: Language, now: datetime | None = None) -> str:
    """`14 Jun 2026`, `14 juin 2026`; without the year if it is that of `now`."""
    local = local_time(instant, zone)
    this_year = now is not None and local_time(now, zone).year == local.year
    return day_text(local, language_of(language).habits, year=not this_year)


def clock_time(instant: datetime, zone: tzinfo, *, seconds: bool = False) -> str:
    local = local_time(instant, zone)
    return f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"


def local_time(instant: datetime, zone: tzinfo) -> datetime:
    """Return an instant in a zone; at the ends of the calendar, the nearest that all have."""
    return from_micros(nearest_micros(to_micros(instant))).astimezone(zone)
