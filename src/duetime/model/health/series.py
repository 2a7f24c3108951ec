"""Series: how a metric went by time, computed from figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from duetime.model.clock import from_micros, seconds_of
from duetime.model.health.buckets import quantile
from duetime.model.health.figures import (
    REST,
    BucketColumn,
    FigureFilter,
    FigureGroup,
    FigureSum,
    FigureSums,
)
from duetime.model.state import Outcome

MetricName = Literal[
    "executed",
    "succeeded",
    "failed",
    "retried",
    "snoozed",
    "cancelled",
    "lost",
    "throughput",
    "lateness_p50",
    "lateness_p99",
    "duration_p50",
    "duration_p99",
]
# The line of all values but the largest. A kind may have this name, too.
OTHERS = "other"
# Most points of a line, and fewer where there are several lines.
MAX_POINTS = 1500
MAX_POINTS_BY = 300
DEFAULT_POINTS = 120
MINUTES_OF_DEFAULT_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)


@dataclass(frozen=True, slots=True)
class Metric:
    """What a point shows: a count of runs, of one outcome or of all; runs per second; or a quantile
    of the runs in buckets."""

    outcome: Outcome | None = None
    per_second: bool = False
    buckets: BucketColumn | None = None
    fraction: float = 0.0


METRICS: Mapping[str, Metric] = {
    "executed": Metric(),
    "succeeded": Metric(Outcome.succeeded),
    "failed": Metric(Outcome.failed),
    "retried": Metric(Outcome.retried),
    "snoozed": Metric(Outcome.snoozed),
    "cancelled": Metric(Outcome.cancelled),
    "lost": Metric(Outcome.lost),
    "throughput": Metric(per_second=True),
    "lateness_p50": Metric(buckets="lateness", fraction=0.5),
    "lateness_p99": Metric(buckets="lateness", fraction=0.99),
    "duration_p50": Metric(buckets="duration", fraction=0.5),
    "duration_p99": Metric(buckets="duration", fraction=0.99),
}


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a metric from `at` on, for the length of a step; None if there was nothing to
    measure."""

    at: datetime
    value: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """The points of one queue, kind or outcome; `value` is None where all are taken together."""

    value: str | None
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A metric by time: a line for each value of `by`, the one with most runs first.

    `capped` if runs of this tenant may be missing.
    """

    metric: str
    since: datetime
    until: datetime
    step: timedelta
    by: FigureGroup | None
    lines: tuple[Line, ...]
    capped: bool

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of the first line: of the only one, without `by`."""
        return self.lines[0].points if self.lines else ()


def series_of(name: str, wanted: FigureFilter, found: FigureSums) -> Series:
    """Compute the series of a metric from the sums that the filter selects."""
    by_value: dict[str, list[FigureSum]] = {} if wanted.by else {REST: []}
    for each in found.sums:
        by_value.setdefault(each.value, []).append(each)
    largest_first = sorted(by_value, key=lambda value: _place(value, by_value[value]))
    return Series(
        metric=name,
        since=from_micros(wanted.since),
        until=from_micros(wanted.until),
        step=timedelta(microseconds=wanted.step),
        by=wanted.by,
        lines=tuple(
            Line(_shown(value, wanted), _points(METRICS[name], wanted, by_value[value]))
            for value in largest_first
        ),
        capped=found.capped,
    )


def _place(value: str, sums: list[FigureSum]) -> tuple[bool, int, str]:
    """Return what lines are ordered by: all others last."""
    return value == REST, -sum(each.runs for each in sums), value


def _shown(value: str, wanted: FigureFilter) -> str | None:
    return None if wanted.by is None else value or OTHERS


def _points(metric: Metric, wanted: FigureFilter, sums: list[FigureSum]) -> tuple[Point, ...]:
    by_step: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for each in sums:
        by_step[each.step][each.bucket] += each.runs
    starts = range(wanted.since, wanted.until, wanted.step)
    # The last step may be shorter than the others.
    lengths = (min(wanted.step, wanted.until - start) for start in starts)
    return tuple(
        Point(from_micros(start), _value(metric, by_step.get(number, {}), length))
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
    )


def _value(metric: Metric, runs_by_bucket: Mapping[int, int], length: int) -> float | None:
    if metric.buckets is not None:
        return quantile(runs_by_bucket, metric.fraction)
    runs = sum(runs_by_bucket.values())
    return runs / seconds_of(length) if metric.per_second else runs


def default_step(length: int, minute: int) -> int:
    """Return the shortest of the usual steps that gives few points for a time of this length."""
    usual = (minutes * minute for minutes in MINUTES_OF_DEFAULT_STEPS)
    longest = MINUTES_OF_DEFAULT_STEPS[-1] * minute
    fitting = (step for step in usual if length <= step * DEFAULT_POINTS)
    return next(fitting, -(-length // (longest * DEFAULT_POINTS)) * longest)
