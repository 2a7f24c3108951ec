"""A median with a 95 % interval that assumes nothing about the distribution of the values.

A value lies below the median of its distribution with a probability of one half, so the number of
values below that median is binomial. The interval reaches from the k-th smallest value to the k-th
largest, with the greatest k that leaves at most 2.5 % on each side: for 20 values these are the 6th
and the 15th, for 10 values the 2nd and the 9th. Fewer than 6 values have no such interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and its bounds; these are None if there are too few values."""

    median: float
    low: float | None
    high: float | None


def interval(values: Sequence[float]) -> Interval:
    ordered, rank = sorted(values), bound_rank(len(values))
    low, high = (ordered[rank - 1], ordered[-rank]) if rank else (None, None)
    return Interval(statistics.median(ordered), low, high)


def bound_rank(count: int) -> int:
    """The greatest k, counted from 1; 0 if there is none."""
    rank, outside = 0, 1 / 2**count
    while outside <= (1 - CONFIDENCE) / 2:
        rank += 1
        outside += math.comb(count, rank) / 2**count
    return rank
