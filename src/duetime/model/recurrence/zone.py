"""Time zones as spans of constant offset, which is all that a rule reads of a zone.

Within a span the local clock runs evenly; between two spans it jumps. All numbers are whole
seconds: instants since 1970 in UTC, and local times since 1970-01-01 00:00 on the local clock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from duetime.errors import InvalidRecurrence
from duetime.model.clock import EPOCH
from duetime.words.phrase import Phrase, phrase, with_hint

DAY = 86_400
# The calendar, weekdays included, repeats after 400 years, and so do the rules of all zones after
# the last irregular change in the zone data.
CALENDAR_CYCLE = 146_097 * DAY
YEAR = CALENDAR_CYCLE // 400
# Years after 1970 that are read from the zone data; later years repeat those 400 years before.
PROBED_YEARS = 600
# No zone ever kept an offset for less than 95 hours, so that two probes miss no change.
PROBE_INTERVAL = 2 * DAY
# No clock is ever set back by more than a day.
MAX_SET_BACK = 2 * DAY
# Years since 1970 whose clock changes stand for those that a job will meet: 2020 to 2037.
TYPICAL_YEARS = range(50, 68)

# Local times must stay within years 1 to 9999, too.
FIRST_PROBE = (datetime(1, 1, 3, tzinfo=UTC) - EPOCH).days * DAY
LAST_PROBE = (datetime(9999, 12, 29, tzinfo=UTC) - EPOCH).days * DAY

# Files beside the zone files: this machine's own zone, and zones that count leap seconds.
NOT_ZONES = ("localtime", "posixrules", "posix/", "right/", "Factory")


# Abbreviations that stand for one region, and are no zones; ambiguous ones (IST) are left out.
ZONES_OF_ABBREVIATION = {
    "CEST": "'Europe/Paris' or 'Europe/Berlin'",
    "EEST": "'Europe/Helsinki' or 'Europe/Athens'",
    "WEST": "'Europe/Lisbon'",
    "BST": "'Europe/London'",
    "MSK": "'Europe/Moscow'",
    "EDT": "'America/New_York'",
    "CDT": "'America/Chicago'",
    "MDT": "'America/Denver'",
    "PDT": "'America/Los_Angeles'",
    "PST": "'America/Los_Angeles'",
    "AKST": "'America/Anchorage'",
    "AKDT": "'America/Anchorage'",
    "JST": "'Asia/Tokyo'",
    "KST": "'Asia/Seoul'",
    "AEST": "'Australia/Sydney' or 'Australia/Brisbane'",
    "AEDT": "'Australia/Sydney'",
    "ACST": "'Australia/Adelaide' or 'Australia/Darwin'",
    "ACDT": "'Australia/Adelaide'",
    "AWST": "'Australia/Perth'",
    "NZST": "'Pacific/Auckland'",
    "NZDT": "'Pacific/Auckland'",
}
MAX_ABBREVIATION = 5


class Span(NamedTuple):
    """Instants `start <= t < end` with the same offset; the end of a year ends a span, too."""

    start: int
    end: int
    offset: int
    # The latest local time that the clock had reached before `start`. If the local time at `start`
    # is later, a gap lies between them; if it is earlier, the clock was set back, and local times
    # before `reached` come a second time.
    reached: int

    @property
    def begin(self) -> int:
        """The local time at `start`."""
        return self.start + self.offset


def zone(name: str) -> Zone:
    """Return the zone of this name. Like ZoneInfo, a process keeps the rules of a zone as first
    read."""
    if not isinstance(name, str):
        remedy = phrase("give the name of an IANA zone, as 'Europe/Paris'")
        raise InvalidRecurrence("tz", name, remedy)
    return _zone(name)


class Zone:
    """An IANA zone. The spans of a year are computed at their first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._info = _load(name)
        self._years: dict[int, tuple[Span, ...]] = {}

    def span(self, instant: int) -> Span:
        """Return the span that holds this instant."""
        spans = self._years.get(instant // YEAR) or self._compute(instant // YEAR)
        for span in spans:
            if instant < span.end:
                return span
        raise AssertionError("the spans of a year cover it")

    def local(self, instant: int) -> int:
        return instant + self.span(instant).offset

    def typical_changes(self) -> list[Span]:
        """Return the spans from 2020 to 2037 that begin with a clock change."""
        if self._info.utcoffset(None) is not None:
            # The offset never changes.
            return []
        spans = [span for year in TYPICAL_YEARS for span in self._spans(year)]
        return [span for span in spans if span.begin != span.reached]

    def _spans(self, year: int) -> tuple[Span, ...]:
        return self._years.get(year) or self._compute(year)

    def _compute(self, year: int) -> tuple[Span, ...]:
        """Cached by one assignment: threads may compute a year twice, but never see half of it."""
        past = -((PROBED_YEARS - year) // 400) * 400 if year > PROBED_YEARS else 0
        spans = self._shifted(year - past, past * YEAR) if past else self._probe(year)
        self._years[year] = spans
        return spans

    def _shifted(self, year: int, by: int) -> tuple[Span, ...]:
        return tuple(
            Span(span.start + by, span.end + by, span.offset, span.reached + by)
            for span in self._spans(year)
        )

    def _probe(self, year: int) -> tuple[Span, ...]:
        begin, end = year * YEAR, (year + 1) * YEAR
        spans: list[Span] = []
        start = begin - MAX_SET_BACK
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
        """Return the instants in (start, end) at which the offset changes."""
        changes = []
        low, offset = start, self._offset(start)
        while low < end - 1:
            high = min(low + PROBE_INTERVAL, end - 1)
            before, offset = offset, self._offset(high)
            if before != offset:
                changes.append(self._bisect(low, high))
            low = high
        return changes

    def _bisect(self, low: int, high: int) -> int:
        """Return the first instant with the offset of `high`; `low` has another offset."""
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
        if not name.startswith(NOT_ZONES):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise InvalidRecurrence("tz", name, _no_zone(name))


def _no_zone(name: str) -> Phrase:
    """Return the zones that a known abbreviation stands for, the zone of a city, or a zone of a
    similar name. Short names are all similar to each other, which says nothing."""
    unknown = phrase("there is no IANA zone of that name")
    zones = ZONES_OF_ABBREVIATION.get(name.upper())
    if zones is not None:
        offset = "{unknown}: {name} is an offset of a part of the year; name the place, as {zones}"
        return phrase(offset, unknown=unknown, name=name, zones=zones)
    of_city = _zones_of_city(name)
    if len(of_city) == 1:
        return with_hint(unknown, of_city[0], of_city)
    known = available_timezones() if len(name) > MAX_ABBREVIATION else ()
    return with_hint(unknown, name, known)


def _zones_of_city(name: str) -> list[str]:
    ending = f"/{name.strip().replace(' ', '_').lower()}"
    return [zone for zone in available_timezones() if zone.lower().endswith(ending)]
