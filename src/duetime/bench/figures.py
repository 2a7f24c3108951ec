"""Figures: the results of several rounds, with median and spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The results of one round, by name and unit, such as "drain /s" or "p99 ms".
RoundFigures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its values in all rounds."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def document(self) -> dict[str, Any]:
        return {
            "figure": self.name,
            "unit": self.unit,
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "values": list(self.values),
        }


def figures(rounds: Iterable[RoundFigures]) -> list[Figure]:
    """Return the figures of several rounds, in order of first appearance."""
    values: dict[str, list[float]] = {}
    for round_figures in rounds:
        for label, value in round_figures.items():
            values.setdefault(label, []).append(value)
    return [Figure(*split(label), tuple(series)) for label, series in values.items()]


def split(label: str) -> tuple[str, str]:
    name, _, unit = label.rpartition(" ")
    return name, unit


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below this share of all values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def lateness_figures(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles of how late actions started; a negative least means an early start."""
    millis = [1000 * value for value in seconds]
    return {
        "p50 ms": percentile(millis, 0.5),
        "p99 ms": percentile(millis, 0.99),
        "most ms": max(millis),
        "least ms": min(millis),
    }


def format_figure(value: float) -> str:
    """Format a figure with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
