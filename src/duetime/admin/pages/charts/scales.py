"""Scales and axes: where values and instants stand, and which of them are written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from duetime.admin.pages.formats.instants import local_time
from duetime.model.clock import SECOND, from_micros, nearest_micros, to_micros

# Beyond this, sums of two values would leave the range of floats.
MAX_VALUE = 1e300
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
# Steps of a time axis, of which the shortest that is not too dense is taken.
TIME_STEPS = (
    *(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000),
    *(SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND),
    *(MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR),
    *(DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 180 * DAY, 365 * DAY),
)


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Maps instants between two onto a line from `left` on, `width` long."""

    start: int
    end: int
    left: float
    width: float

    def place(self, micros: int) -> float:
        """Return where an instant stands; what lies outside stands at the nearer end."""
        length = max(self.end - self.start, 1)
        part = (min(max(micros, self.start), self.end) - self.start) / length
        return self.left + part * self.width


def finite(value: float | None) -> float | None:
    """Return a value that can be drawn; None for what is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(min(max(value, -MAX_VALUE), MAX_VALUE))


def round_top(value: float) -> float:
    """Return the least of 2, 4, 10, 20, 40, 100, ... that is not below a value."""
    if value <= 2:
        return 2
    power = 10.0 ** math.floor(math.log10(value))
    return next(top * power for top in (1, 2, 4, 10, 20) if top * power >= value)


def chunks(count: int, most: int) -> list[range]:
    """Split `count` places into at most `most` ranges of one length; the last may be shorter."""
    size = max(-(-count // most), 1)
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def time_step(length: int, most: int, least: int = 0) -> int:
    """Return the shortest usual step, not below `least`, that fits into a time at most so often."""
    longest = TIME_STEPS[-1]
    fitting = (step for step in TIME_STEPS if step >= least and length <= step * most)
    return next(fitting, -(-length // (longest * most)) * longest)


def round_instants(start: int, end: int, step: int, zone: tzinfo) -> Iterator[int]:
    """Yield the instants that are multiples of a step on the clock of the zone at the start."""
    offset = local_time(from_micros(start), zone).utcoffset() or timedelta()
    shift = offset // timedelta(microseconds=1)
    first = -(-(start + shift) // step) * step - shift
    yield from range(first, end + 1, step)


def drawable(instant: datetime) -> int:
    """Return an instant in microseconds, or the nearest that every zone can show."""
    return nearest_micros(to_micros(instant))
