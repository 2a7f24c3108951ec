"""Cron: ticks by the local clock of a zone.

The contract for the days on which clocks change, in docs/explanation/time.md:

- an *interval* expression (its second, minute or hour begins with `*`) ticks whenever the local
  clock shows a matching time: twice if it shows that time twice, not at all if it never does;
- any other expression is *fixed*: each matching local time ticks once, at the first instant at
  which the local clock shows that time or a later one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from duetime.model.clock import EPOCH
from duetime.model.recurrence.base import Grid, Recurrence
from duetime.model.recurrence.cron_parser import Fields, parse
from duetime.model.recurrence.cron_text import in_words
from duetime.model.recurrence.zone import DAY, Span, Zone, zone
from duetime.model.validation import instant

FIRST = (datetime.min.replace(tzinfo=UTC) - EPOCH).days * DAY
# No local time is so far from the instant that it names.
MARGIN = 2 * DAY
LAST = (datetime.max.replace(tzinfo=UTC) - EPOCH).days * DAY + DAY - 1


@dataclass(frozen=True, slots=True, init=False)
class Cron(Recurrence):
    """`Cron("0 2 * * *", tz="Europe/Paris")`: five fields, or six with seconds first."""

    expr: str
    tz: str = field()
    _fields: Fields = field(compare=False, repr=False)
    _zone: Zone = field(compare=False, repr=False)

    def __init__(self, expr: str, tz: str | ZoneInfo = "UTC") -> None:
        fields = parse(expr)
        name = tz.key if isinstance(tz, ZoneInfo) else tz
        place = zone(name)
        for attribute, value in (
            ("expr", fields.text),
            ("tz", name),
            ("_fields", fields),
            ("_zone", place),
        ):
            object.__setattr__(self, attribute, value)

    def next(self, after: datetime) -> datetime | None:
        since = instant("after", after) - EPOCH
        tick = self._forward(since.days * DAY + since.seconds + 1)
        return None if tick is None else EPOCH + timedelta(seconds=tick)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        since = instant("until", until) - EPOCH
        tick = self._backward(since.days * DAY + since.seconds)
        found = None if tick is None else EPOCH + timedelta(seconds=tick)
        return found if found is not None and found > instant("after", after) else None

    def describe(self) -> str:
        return f"{in_words(self._fields)}, {self.tz}"

    @property
    def zones(self) -> frozenset[str]:
        return frozenset({self.tz})

    @property
    def interval(self) -> bool:
        """Does it name intervals rather than fixed times of day?"""
        return self._fields.interval

    def falls_between(self, start: int, end: int) -> bool:
        """Does a fixed local time lie in this gap of the local clock, start <= time < end?"""
        local = None if self._fields.interval else self._first(start)
        return local is not None and local < end

    def _grid(self, second: int) -> Grid:
        span = self._zone.span(second)
        even = self._fields.times.seconds == 1 and not span.offset % 60 and not second % 60
        return Grid(60 if even else 1, span.start, span.end)

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        span, times = self._zone.span(second), self._fields.times
        whole = times.whole(step)
        # A fixed one passes over what the local clock shows for the second time.
        if whole is None or span.offset % step or not self._fields.interval:
            return None
        start = second - (second + span.offset) % whole
        return max(start, span.start), min(start + whole, span.end)

    def _forward(self, earliest: int) -> int | None:
        """The first tick at or after this second: from span to span, by the local clock."""
        while earliest <= LAST:
            span = self._zone.span(earliest)
            local = self._first(self._from(span, earliest))
            if local is None:
                return None
            tick = max(local - span.offset, span.start)
            if tick < span.end:
                return tick if tick <= LAST else None
            # A fixed time that lies far ahead is looked for there; an interval may come again.
            ahead = span.end if self._fields.interval else local - MARGIN
            earliest = max(span.end, ahead)
        return None

    def _from(self, span: Span, earliest: int) -> int:
        """The first local time that may tick from here on."""
        if self._fields.interval:
            return earliest + span.offset
        if earliest == span.start:
            # What lies in a gap before this span ticks at its start.
            return span.reached
        return max(span.reached, earliest + span.offset)

    def _backward(self, newest: int) -> int | None:
        """The last tick at or before this second."""
        while newest >= FIRST:
            span = self._zone.span(newest)
            local = self._last(newest + span.offset)
            if local is None:
                return None
            begin = span.start + span.offset if self._fields.interval else span.reached
            if local >= begin:
                tick = max(local - span.offset, span.start)
                return tick if tick >= FIRST else None
            # All fixed times after this one were seen, unless the clock was set back here.
            seen = not self._fields.interval and span.reached <= newest + span.offset
            newest = min(span.start - 1, local + MARGIN) if seen else span.start - 1
        return None

    def _first(self, local: int) -> int | None:
        """The first matching local time at or after this one."""
        day, second = divmod(local, DAY)
        times, days = self._fields.times, self._fields.days
        found = days.first(day)
        if found == day:
            later = times.first(second)
            if later is not None:
                return day * DAY + later
            found = days.first(day + 1)
        return None if found is None else found * DAY + times.earliest

    def _last(self, local: int) -> int | None:
        """The last matching local time at or before this one."""
        day, second = divmod(local, DAY)
        times, days = self._fields.times, self._fields.days
        found = days.last(day)
        if found == day:
            earlier = times.last(second)
            if earlier is not None:
                return day * DAY + earlier
            found = days.last(day - 1)
        return None if found is None else found * DAY + times.newest
