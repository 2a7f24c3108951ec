"""Time zones as spans of constant offset, which is all that a rule needs to know of one.

Within a span the local clock runs evenly; between two spans it jumps. Everything is in whole
seconds: instants since 1970 in UTC, and local times since 1970-01-01 00:00 on the local clock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from duetime.errors import InvalidRecurrence, did_you_mean
from duetime.model.clock import EPOCH

DAY = 86_400
# The calendar, weekdays included, repeats after 400 years, and so do the rules of all zones once
# their histories have ended.
CYCLE = 146_097 * DAY
YEAR = CYCLE // 400
HISTORY = 600
# No zone ever kept an offset for less than 95 hours: no change hides between two probes.
PROBE = 2 * DAY
# No clock is ever set back by more than a day.
MEMORY = 2 * DAY

# Local times must stay within years 1 to 9999, too.
FIRST_PROBE = (datetime(1, 1, 3, tzinfo=UTC) - EPOCH).days * DAY
LAST_PROBE = (datetime(9999, 12, 29, tzinfo=UTC) - EPOCH).days * DAY

# Files that lie beside the zones: this machine's own zone, and zones that count leap seconds.
NO_ZONES = ("localtime", "posixrules", "posix/", "right/", "Factory")


class Span(NamedTuple):
    """Instants `start <= t < end` with one offset; a year of the cycle ends a span, too."""

    start: int
    end: int
    offset: int
    # How far the local clock had come before `start`. Less than the local time at `start`: a gap
    # lies between them. More: the clock was set back, and times up to here come a second time.
    reached: int


def zone(name: str) -> Zone:
    """The zone of this name. Like ZoneInfo, one process keeps the rules that it read first."""
    if not isinstance(name, str):
        raise InvalidRecurrence("tz", name, "give the name of an IANA zone, as 'Europe/Paris'")
    return _zone(name)


class Zone:
    """One IANA zone. The spans of a year are found when they are first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._info = _load(name)
        self._years: dict[int, tuple[Span, ...]] = {}

    def span(self, instant: int) -> Span:
        """The span that holds this instant."""
        spans = self._years.get(instant // YEAR) or self._find(instant // YEAR)
        for span in spans:
            if instant < span.end:
                return span
        raise AssertionError("the spans of a year cover it")

    def local(self, instant: int) -> int:
        return instant + self.span(instant).offset

    def _find(self, year: int) -> tuple[Span, ...]:
        """Kept by one assignment: threads may find the same twice, and never half of it."""
        past = -((HISTORY - year) // 400) * 400 if year > HISTORY else 0
        found = self._shifted(year - past, past * YEAR) if past else self._probe(year)
        self._years[year] = found
        return found

    def _shifted(self, year: int, by: int) -> tuple[Span, ...]:
        spans = self._years.get(year) or self._find(year)
        return tuple(Span(s.start + by, s.end + by, s.offset, s.reached + by) for s in spans)

    def _probe(self, year: int) -> tuple[Span, ...]:
        begin, end = year * YEAR, (year + 1) * YEAR
        spans: list[Span] = []
        start = begin - MEMORY
        reached = start + self._offset(start)
        for change in [*self._changes(start, end), end]:
            offset = self._offset(start)
            if start < begin < change:
                reached, start = max(reached, begin + offset), begin
            if start >= begin:
                spans.append(Span(start, change, offset, reached))
            reached, start = max(reached, change + offset), change
        return tuple(spans)

    def _changes(self, start: int, end: int) -> list[int]:
        """The instants in (start, end) at which the offset changes."""
        found = []
        low, offset = start, self._offset(start)
        while low < end - 1:
            high = min(low + PROBE, end - 1)
            before, offset = offset, self._offset(high)
            if before != offset:
                found.append(self._halve(low, high))
            low = high
        return found

    def _halve(self, low: int, high: int) -> int:
        """The first instant with the offset of `high`; `low` has another one."""
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == self._offset(low):
                low = middle
            else:
                high = middle
        return high

    def _offset(self, instant: int) -> int:
        within = min(max(instant, FIRST_PROBE), LAST_PROBE)
        offset = datetime.fromtimestamp(within, self._info).utcoffset()
        assert offset is not None
        return offset.days * DAY + offset.seconds


@cache
def _zone(name: str) -> Zone:
    return Zone(name)


def _load(name: str) -> ZoneInfo:
    try:
        if not name.startswith(NO_ZONES):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    guess = did_you_mean(name, available_timezones())
    raise InvalidRecurrence("tz", name, f"there is no IANA zone of that name{guess}")
