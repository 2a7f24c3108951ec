"""Every: ticks at even intervals, counted from an anchor, so that they do not drift."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from duetime.errors import InvalidRecurrence, shown
from duetime.model.clock import EPOCH
from duetime.model.recurrence.base import Grid, Recurrence
from duetime.model.validation import instant
from duetime.words.languages import language_of
from duetime.words.phrase import phrase

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
UNBOUNDED_SECONDS = 10**12
MIN_INTERVAL = timedelta(seconds=1)
MAX_INTERVAL = timedelta(days=365_250)
UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


@dataclass(frozen=True, slots=True, init=False)
class Every(Recurrence):
    """`Every(minutes=5)`: the anchor and all instants a whole number of intervals away from it.

    The anchor sets the phase, not the start: there are ticks before the anchor, too. A day is 24
    hours; use a Cron for a time of day that follows the clocks of a zone.
    """

    interval: timedelta
    anchor: datetime

    def __init__(
        self,
        interval: float | timedelta = 0,
        *,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float | timedelta = 0,
        anchor: datetime = EPOCH,
    ) -> None:
        parts = {"interval": interval, "seconds": seconds, "minutes": minutes}
        parts |= {"hours": hours, "days": days, "weeks": weeks}
        object.__setattr__(self, "interval", _total(parts))
        object.__setattr__(self, "anchor", instant("anchor", anchor))

    def next(self, after: datetime) -> datetime | None:
        return self._tick((instant("after", after) - self.anchor) // self.interval + 1)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        tick = self._tick((instant("until", until) - self.anchor) // self.interval)
        return tick if tick is not None and tick > instant("after", after) else None

    def describe(self, language: str = "en") -> str:
        anchor = None if self.anchor == EPOCH else self.anchor
        return language_of(language).rules.every(self.interval, anchor)

    @property
    def zones(self) -> frozenset[str]:
        return frozenset()

    def _grid(self, second: int) -> Grid | None:
        if self.interval % SECOND:
            return None
        return Grid(1 if self.interval % MINUTE else 60, -UNBOUNDED_SECONDS, UNBOUNDED_SECONDS)

    def _tick(self, number: int) -> datetime | None:
        try:
            return self.anchor + number * self.interval
        except OverflowError:
            return None


def _total(parts: dict[str, float | timedelta]) -> timedelta:
    """Return the sum of the parts; a refusal names the wrong part."""
    total = timedelta()
    try:
        for name, value in parts.items():
            total += _length(name, value)
    except OverflowError:
        total = timedelta.max
    written = ", ".join(f"{name}={shown(value)}" for name, value in parts.items() if value)
    if total < MIN_INTERVAL:
        remedy = phrase(
            "the shortest interval is one second: give seconds=, minutes=, hours= or days="
        )
        raise InvalidRecurrence("recurrence", f"Every({written})", remedy)
    if total > MAX_INTERVAL:
        raise InvalidRecurrence(
            "recurrence", f"Every({written})", phrase("give at most 1000 years")
        )
    return total


def _length(name: str, value: float | timedelta) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError
        return value * UNITS.get(name.removesuffix("s"), UNITS["second"])
    except (TypeError, ValueError):
        remedy = phrase("give a number, or a timedelta for seconds")
        raise InvalidRecurrence(name, value, remedy) from None
