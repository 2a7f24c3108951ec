"""Figures: what several rounds came to, with their median and spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What one round gave: figures by name and unit, as "drain /s" or "p99 ms".
Taken = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of all rounds."""

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


def figures(rounds: Iterable[Taken]) -> list[Figure]:
    """The figures of several rounds, in the order in which they were given."""
    values: dict[str, list[float]] = {}
    for taken in rounds:
        for label, value in taken.items():
            values.setdefault(label, []).append(value)
    return [Figure(*split(label), tuple(found)) for label, found in values.items()]


def split(label: str) -> tuple[str, str]:
    name, _, unit = label.rpartition(" ")
    return name, unit


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below this share of all."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def lateness_figures(seconds: Sequence[float]) -> dict[str, float]:
    """How late actions started; the least tells whether one of them was early."""
    millis = [1000 * one for one in seconds]
    return {
        "p50 ms": percentile(millis, 0.5),
        "p99 ms": percentile(millis, 0.99),
        "most ms": max(millis),
        "least ms": min(millis),
    }


def shown(value: float) -> str:
    """With as many digits as mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
