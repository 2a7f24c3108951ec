"""The time zone in which a reader sees times: their choice, their browser's zone, or UTC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from duetime.admin.pages.formats.instants import local_time

# What no zone is called; cookies and queries may hold anything.
ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}")
UTC_NAME = "UTC"


class NoSuchLocalTime(ValueError):
    """The clocks of the zone skip this time."""


@dataclass(frozen=True, slots=True)
class ReaderZone:
    """A time zone, and what readers give in it."""

    name: str

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.name)

    def local(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone)

    def written(self, instant: datetime) -> str:
        """Return an instant as a field for a date and a time holds it; at the ends of the
        calendar, the nearest that this zone has."""
        return local_time(instant, self.zone).replace(tzinfo=None).isoformat(timespec="minutes")

    def instant(self, text: str) -> datetime:
        """Return the instant that a field gives: with an offset, or else in this zone. ValueError
        if it is none, NoSuchLocalTime if the clocks skip it."""
        given = datetime.fromisoformat(text.strip())
        if given.tzinfo is not None:
            return given
        instant = given.replace(tzinfo=self.zone).astimezone(UTC)
        if self.local(instant).replace(tzinfo=None) != given:
            raise NoSuchLocalTime(text)
        return instant


def to_zone(name: str | None) -> ReaderZone | None:
    return ReaderZone(name) if name and ZONE_NAME.fullmatch(name) and name in _names() else None


def zone_of(chosen: str | None, remembered: Iterable[str], browser: Iterable[str]) -> ReaderZone:
    """Return the first of these that is a zone, or UTC."""
    given = [chosen, *map(unquote, remembered), *map(unquote, browser)]
    return next((zone for zone in map(to_zone, given) if zone is not None), ReaderZone(UTC_NAME))


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())
