"""The comparison of two trees: figures of one action, from pairs of runs.

Each pair gives one ratio new / old: its runs met much the same load of the machine. The median of
these ratios is judged, not the ratio of the medians, which may come from different minutes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interval import Interval, interval
from meter import Usage

# Figures of one action, by name and unit.
Figures = Mapping[str, float]
MICROSECONDS = 1e6


@dataclass(frozen=True, slots=True)
class Pair:
    """A run of the old tree and a run of the new tree, one after the other."""

    old: Figures
    new: Figures


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of a workload: its values in every pair."""

    figure: str
    old: Sequence[float]
    new: Sequence[float]

    @property
    def ratio(self) -> Interval:
        pairs = zip(self.old, self.new, strict=True)
        return interval([new / old if old else math.inf for old, new in pairs])

    @property
    def verdict(self) -> str:
        """Whether the interval excludes the ratio 1."""
        ratio = self.ratio
        if ratio.low is None or ratio.high is None:
            return "too few pairs"
        return "less" if ratio.high < 1 else "more" if ratio.low > 1 else "no difference seen"

    def line(self) -> str:
        ratio = self.ratio
        medians = f"{statistics.median(self.old):>12,.2f} {statistics.median(self.new):>12,.2f}"
        bounds = "-" if ratio.low is None else f"{ratio.low:.3f} to {ratio.high:.3f}"
        return f"  {self.figure:<14} {medians} {ratio.median:>7.3f}  {bounds:<14}  {self.verdict}"

    def document(self) -> dict[str, Any]:
        ratio = self.ratio
        return {
            "figure": self.figure,
            "old": list(self.old),
            "new": list(self.new),
            "ratio": {"median": ratio.median, "low": ratio.low, "high": ratio.high},
            "verdict": self.verdict,
        }


def per_action(usage: Usage, count: int) -> Figures:
    return {
        "worker µs": usage.worker * MICROSECONDS / count,
        "PostgreSQL µs": usage.postgres * MICROSECONDS / count,
        "WAL bytes": usage.wal / count,
    }


def comparisons(pairs: Sequence[Pair]) -> list[Comparison]:
    """Return a comparison of each figure."""
    return [
        Comparison(name, [pair.old[name] for pair in pairs], [pair.new[name] for pair in pairs])
        for name in pairs[0].old
    ]
