"""Every: ticks at even distances, counted from an anchor, so that nothing ever drifts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from duetime.errors import InvalidRecurrence, shown
from duetime.model.clock import EPOCH
from duetime.model.recurrence.base import Grid, Recurrence
from duetime.model.validation import instant

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ALWAYS = 10**12  # seconds
SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=365_250)
UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


@dataclass(frozen=True, slots=True, init=False)
class Every(Recurrence):
    """`Every(minutes=5)`: the anchor and all instants a whole number of intervals from it.

    The anchor sets the phase, not the start: there are ticks before it, too. A day is 24 hours;
    a time of day that follows the clocks of a place is a Cron.
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
        given = {"interval": interval, "seconds": seconds, "minutes": minutes}
        given |= {"hours": hours, "days": days, "weeks": weeks}
        object.__setattr__(self, "interval", _total(given))
        object.__setattr__(self, "anchor", instant("anchor", anchor))

    def next(self, after: datetime) -> datetime | None:
        return self._tick((instant("after", after) - self.anchor) // self.interval + 1)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        tick = self._tick((instant("until", until) - self.anchor) // self.interval)
        return tick if tick is not None and tick > instant("after", after) else None

    def describe(self) -> str:
        origin = "" if self.anchor == EPOCH else f", counted from {self.anchor.isoformat()}"
        return f"every {_in_words(self.interval)}{origin}"

    @property
    def zones(self) -> frozenset[str]:
        return frozenset()

    def _grid(self, second: int) -> Grid | None:
        phase = self.anchor - EPOCH
        steps = (MINUTE, SECOND)
        even = [one for one in steps if not self.interval % one and not phase % one]
        return Grid(even[0] // SECOND, -ALWAYS, ALWAYS) if even else None

    def _tick(self, number: int) -> datetime | None:
        try:
            return self.anchor + number * self.interval
        except OverflowError:
            return None


def _total(given: dict[str, float | timedelta]) -> timedelta:
    """All parts together; refused by the name of the part that is wrong."""
    total = timedelta()
    try:
        for name, value in given.items():
            total += _length(name, value)
    except OverflowError:
        total = timedelta.max
    named = ", ".join(f"{name}={shown(value)}" for name, value in given.items() if value)
    if total < SHORTEST:
        remedy = "the shortest interval is one second: give seconds=, minutes=, hours= or days="
        raise InvalidRecurrence("recurrence", f"Every({named})", remedy)
    if total > LONGEST:
        raise InvalidRecurrence("recurrence", f"Every({named})", "give at most 1000 years")
    return total


def _length(name: str, value: float | timedelta) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError
        return value * UNITS.get(name.removesuffix("s"), UNITS["second"])
    except (TypeError, ValueError):
        raise InvalidRecurrence(name, value, "give a number, or a timedelta for seconds") from None


def _in_words(interval: timedelta) -> str:
    """`90 minutes`, `2 days`: the largest unit that divides it."""
    for unit, length in UNITS.items():
        count, rest = divmod(interval, length)
        if not rest:
            return unit if count == 1 else f"{count} {unit}s"
    return f"{interval.total_seconds():.6f}".rstrip("0") + " seconds"
