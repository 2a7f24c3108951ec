"""Cron: ticks by the local clock of a zone.

The contract for days on which clocks change, as in docs/explanation/time.md:

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
from duetime.model.recurrence.cron_calendar import highest, lowest
from duetime.model.recurrence.cron_parser import Fields, parse
from duetime.model.recurrence.cron_parts import date_parts, time_parts
from duetime.model.recurrence.zone import DAY, Span, Zone, zone
from duetime.model.validation import instant
from duetime.words.languages import language_of

FIRST_SECOND = (datetime.min.replace(tzinfo=UTC) - EPOCH).days * DAY
LAST_SECOND = (datetime.max.replace(tzinfo=UTC) - EPOCH).days * DAY + DAY - 1
# No local time differs from its instant by more than this.
MAX_OFFSET = 2 * DAY


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
        second = self._forward(since.days * DAY + since.seconds + 1)
        return None if second is None else EPOCH + timedelta(seconds=second)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        since = instant("until", until) - EPOCH
        second = self._backward(since.days * DAY + since.seconds)
        tick = None if second is None else EPOCH + timedelta(seconds=second)
        return tick if tick is not None and tick > instant("after", after) else None

    def describe(self, language: str = "en") -> str:
        times = time_parts(self._fields, name_kind=self._differs_from_interval())
        return language_of(language).rules.cron(times, date_parts(self._fields.days), self.tz)

    @property
    def zones(self) -> frozenset[str]:
        return frozenset({self.tz})

    @property
    def interval(self) -> bool:
        """Whether the expression names intervals rather than fixed times of day."""
        return self._fields.interval

    def matches_between(self, start: int, end: int) -> bool:
        """Whether a local time in start <= time < end matches the expression."""
        local = self._first(start)
        return local is not None and local < end

    def _differs_from_interval(self) -> bool:
        """Whether an interval of the same times would tick differently when clocks change."""
        return not self._fields.interval and any(
            self.matches_between(*sorted((span.begin, span.reached)))
            for span in self._zone.typical_changes()
        )

    def _grid(self, second: int) -> Grid | None:
        span, seconds = self._zone.span(second), self._fields.times.seconds
        # A tick that was moved out of a gap lies on no grid.
        after_gap = not self._fields.interval and span.reached < span.begin
        if after_gap and second == span.start:
            return None
        once_a_minute = lowest(seconds) == highest(seconds)
        return Grid(60 if once_a_minute else 1, span.start + after_gap, span.end)

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        span, length = self._zone.span(second), self._fields.times.filled_length(step)
        local = second + span.offset
        # A tick that was moved out of a gap says nothing about the times after it.
        if length is None or self._first(local) != local:
            return None
        # A fixed expression does not tick while the local clock shows times again.
        first = span.begin if self._fields.interval else max(span.begin, span.reached)
        start = local - local % length
        return max(start, first) - span.offset, min(start + length - span.offset, span.end)

    def _forward(self, earliest: int) -> int | None:
        """Return the first tick at or after this second, searched from span to span."""
        while earliest <= LAST_SECOND:
            span = self._zone.span(earliest)
            local = self._first(self._from(span, earliest))
            if local is None:
                return None
            tick = max(local - span.offset, span.start)
            if tick < span.end:
                return tick if tick <= LAST_SECOND else None
            # A fixed time far ahead is searched for there; an interval may match again earlier.
            ahead = span.end if self._fields.interval else local - MAX_OFFSET
            earliest = max(span.end, ahead)
        return None

    def _from(self, span: Span, earliest: int) -> int:
        """Return the first local time that may tick at or after this second."""
        if self._fields.interval:
            return earliest + span.offset
        if earliest == span.start:
            # Times in a gap before this span tick at its start.
            return span.reached
        return max(span.reached, earliest + span.offset)

    def _backward(self, newest: int) -> int | None:
        """Return the last tick at or before this second."""
        while newest >= FIRST_SECOND:
            span = self._zone.span(newest)
            local = self._last(newest + span.offset)
            if local is None:
                return None
            begin = span.begin if self._fields.interval else span.reached
            if local >= begin:
                tick = max(local - span.offset, span.start)
                return tick if tick >= FIRST_SECOND else None
            # No later fixed time is left, unless the clock was set back here.
            none_later = not self._fields.interval and span.reached <= newest + span.offset
            newest = min(span.start - 1, local + MAX_OFFSET) if none_later else span.start - 1
        return None

    def _first(self, local: int) -> int | None:
        """Return the first matching local time at or after this one."""
        day, second = divmod(local, DAY)
        times, days = self._fields.times, self._fields.days
        match = days.first(day)
        if match == day:
            later = times.first(second)
            if later is not None:
                return day * DAY + later
            match = days.first(day + 1)
        return None if match is None else match * DAY + times.earliest

    def _last(self, local: int) -> int | None:
        """Return the last matching local time at or before this one."""
        day, second = divmod(local, DAY)
        times, days = self._fields.times, self._fields.days
        match = days.last(day)
        if match == day:
            earlier = times.last(second)
            if earlier is not None:
                return day * DAY + earlier
            match = days.last(day - 1)
        return None if match is None else match * DAY + times.newest
