"""Buckets: ranges of durations in which runs are counted, and the quantiles computed from them.

A bucket is named by its upper bound, which belongs to it, in microseconds. Stored counts keep that
name, so that bounds may be added later.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from duetime.model.clock import micros_of, seconds_of

BOUNDS_SECONDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)
# The bucket of all that is longer: its name is a duration that no run can have.
LONGEST_BUCKET = 10**15
# The bucket of a duration that nothing measured, such as that of a lost run.
UNMEASURED = 0
BOUNDS_MICROS = tuple(map(micros_of, BOUNDS_SECONDS))
# By the place of a duration among the bounds; by one place less than the first, UNMEASURED.
BUCKETS = (*BOUNDS_MICROS, LONGEST_BUCKET, UNMEASURED)
UNMEASURED_PLACE = -1


def bucket_of(micros: int) -> int:
    """Return the bucket of a duration; one below 0, as clocks may differ, is in the first."""
    return BUCKETS[bisect_left(BOUNDS_MICROS, micros)]


def quantile(counts: Mapping[int, int], fraction: float) -> float | None:
    """Return the duration in seconds that this fraction of the counted runs did not exceed; None if
    none was measured. Within its bucket it is interpolated; of the longest, it is the lower
    bound."""
    measured = sorted((bucket, count) for bucket, count in counts.items() if bucket != UNMEASURED)
    rank = fraction * sum(count for _, count in measured)
    below = 0
    for bucket, count in measured:
        if count and below + count >= rank:
            return seconds_of(_within(bucket, (rank - below) / count))
        below += count
    return None


def _within(bucket: int, part: float) -> float:
    place = bisect_left(BOUNDS_MICROS, bucket)
    lower = BOUNDS_MICROS[place - 1] if place else 0
    return lower if bucket >= LONGEST_BUCKET else lower + (bucket - lower) * part
