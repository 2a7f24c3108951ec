"""A slow and simple oracle: read the local clock of a zone minute by minute.

An expression is given as sets of numbers. Gaps, folds and offsets do not occur in the code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from itertools import accumulate
from zoneinfo import ZoneInfo, available_timezones

# Weekly: in these years no zone changes twice within a week.
PROBES = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(weeks=n) for n in range(18 * 52 + 4)]
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
MARGIN = timedelta(hours=36)


@dataclass(frozen=True)
class Sets:
    """An expression, and the numbers that match it."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int] = frozenset(range(1, 32))
    months: frozenset[int] = frozenset(range(1, 13))
    weekdays: frozenset[int] = frozenset(range(7))  # from Monday
    either: bool = False
    interval: bool = False

    @cached_property
    def times(self) -> list[timedelta]:
        return [timedelta(hours=hour, minutes=m) for hour in self.hours for m in self.minutes]

    def on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.weekday() in self.weekdays
        return by_month or by_week if self.either else by_month and by_week


@dataclass
class Window:
    """The minutes around a clock change, and the local time at each."""

    middle: datetime
    zone: ZoneInfo
    # Local time, without a zone -> the instants at which the clock shows it
    shown: dict[datetime, list[datetime]] = field(default_factory=dict)
    _instants: list[datetime] = field(default_factory=list)
    _highest: list[datetime] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = self.middle - MARGIN
        self._instants = [start + number * MINUTE for number in range(2 * MARGIN // MINUTE)]
        clocks = [at.astimezone(self.zone).replace(tzinfo=None, fold=0) for at in self._instants]
        for clock, instant in zip(clocks, self._instants, strict=True):
            self.shown.setdefault(clock, []).append(instant)
        self._highest = list(accumulate(clocks, max))

    def ticks(self, sets: Sets) -> list[datetime]:
        """Return the expected ticks within a day of the change, in order."""
        found = {tick for local in self._nominal(sets) for tick in self._when(local, sets)}
        return sorted(tick for tick in found if abs(tick - self.middle) < DAY)

    def _nominal(self, sets: Sets) -> Iterator[datetime]:
        midnight = self.middle.replace(tzinfo=None, hour=0, minute=0) - 2 * DAY
        for day in (midnight + n * DAY for n in range(5)):
            if sets.on(day):
                yield from (day + time for time in sets.times)

    def _when(self, local: datetime, sets: Sets) -> list[datetime]:
        shown = self.shown.get(local, [])
        if sets.interval:
            return shown
        return shown[:1] or self._first_at_or_after(local)

    def _first_at_or_after(self, local: datetime) -> list[datetime]:
        place = bisect_left(self._highest, local)
        return self._instants[place : place + 1] if place else []


@cache
def histories() -> dict[str, list[datetime]]:
    """Return a zone for each distinct history 2020-2037, with the instants of its clock changes."""
    names = sorted(available_timezones() - {"localtime", "Factory"})
    found = {tuple(changes(ZoneInfo(name))): name for name in reversed(names)}
    return {name: [at for at, _ in history] for history, name in found.items() if history}


def changes(zone: ZoneInfo) -> Iterator[tuple[datetime, timedelta | None]]:
    """Yield when the offset changes, and to which: found by the week, then by the minute."""
    offset = PROBES[0].astimezone(zone).utcoffset()
    for probe in PROBES:
        if (after := probe.astimezone(zone).utcoffset()) != offset:
            start = probe - timedelta(weeks=1)
            yield start + _first_with(after, start, zone) * MINUTE, after
            offset = after


def _first_with(offset: timedelta | None, start: datetime, zone: ZoneInfo) -> int:
    """Return the first minute of the week from `start` on that has this offset."""
    return bisect_left(
        range(7 * 1440),
        True,
        key=lambda n: (start + n * MINUTE).astimezone(zone).utcoffset() == offset,
    )
