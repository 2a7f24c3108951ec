"""Figures of the last hour or day, as pages show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from duetime.admin.pages.charts.outcome_bars import OutcomeCounts
from duetime.admin.pages.snapshots import kept_for
from duetime.model.clock import micros_of, to_micros
from duetime.model.health.figures import FigureFilter
from duetime.model.health.series import METRICS, OTHERS, Line, MetricName, Series, series_of
from duetime.model.state import Outcome
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

Span = Literal["hour", "day"]
Group = Literal["kind", "queue"]

LENGTHS: dict[Span, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
# What one bar of a chart stands for.
STEPS: dict[Span, timedelta] = {"hour": timedelta(minutes=1), "day": timedelta(minutes=15)}
MINUTE = timedelta(minutes=1)
# Workers add to the figures of a store every few seconds.
KEPT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFigures:
    """How late runs were, and how they ended, by step."""

    runs: int
    lateness_p50: float | None
    lateness_p99: float | None
    lateness_line: tuple[float | None, ...]
    duration_p50: float | None
    duration_p99: float | None
    outcomes: tuple[OutcomeCounts, ...]
    length: timedelta
    step: timedelta

    @property
    def per_minute(self) -> float:
        return self.runs / (self.length / MINUTE)

    @property
    def busy_steps(self) -> list[OutcomeCounts]:
        """The steps in which anything ended, the newest first."""
        return [step for step in reversed(self.outcomes) if any(step.counts.values())]

    @property
    def seen_outcomes(self) -> list[Outcome]:
        counted = {name for step in self.outcomes for name, runs in step.counts.items() if runs}
        return [outcome for outcome in Outcome if outcome in counted]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """The figures of one kind or queue; `name` is None for all but the largest together."""

    name: str | None
    runs: int
    per_minute: float
    lateness_p50: float | None
    lateness_p99: float | None
    duration_p50: float | None
    duration_p99: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Reads series of one time in a scope."""

    app: Duetime
    scope: Scope
    since: datetime
    until: datetime

    @classmethod
    def of(cls, app: Duetime, scope: Scope, span: Span) -> Figures:
        until = _next_minute(app)
        return cls(app, scope, until - LENGTHS[span], until)

    async def read(
        self,
        *metrics: MetricName,
        step: timedelta | None = None,
        by: Literal["queue", "kind", "outcome"] | None = None,
    ) -> list[Series]:
        """Return series in steps; by default, in one step as long as their time. All are computed
        from what is read once, for the metric that needs most."""
        whole = self.until - self.since
        wanted = FigureFilter(
            since=to_micros(self.since),
            until=to_micros(self.until),
            step=micros_of((step or whole).total_seconds()),
            by=by,
            buckets=next(filter(None, (METRICS[name].buckets for name in metrics)), None),
            outcome=_outcome_of(metrics),
            tenant=self.scope,
        )
        store = self.app.store
        found = await store.perform(store.figures(wanted))
        return [series_of(name, wanted, found) for name in metrics]

    async def totals(self, *metrics: MetricName) -> list[float | None]:
        return [series.points[0].value for series in await self.read(*metrics)]

    async def group_totals(
        self, by: Group, *metrics: MetricName
    ) -> list[dict[str | None, float | None]]:
        """Return the totals of groups, the one with most runs first."""
        return [
            {line.value: line.points[0].value for line in series}
            for series in await self.read(*metrics, by=by)
        ]


@kept_for(KEPT_SECONDS)
async def read_recent_figures(app: Duetime, scope: Scope, span: Span) -> RecentFigures:
    figures, step = Figures.of(app, scope, span), STEPS[span]
    [line] = await figures.read("lateness_p99", step=step)
    runs, lateness_p50, lateness_p99 = await figures.totals(
        "executed", "lateness_p50", "lateness_p99"
    )
    duration_p50, duration_p99 = await figures.totals("duration_p50", "duration_p99")
    [ended] = await figures.read("executed", step=step, by="outcome")
    return RecentFigures(
        runs=int(runs or 0),
        lateness_p50=lateness_p50,
        lateness_p99=lateness_p99,
        lateness_line=tuple(point.value for point in line.points),
        duration_p50=duration_p50,
        duration_p99=duration_p99,
        outcomes=_outcomes(ended, line),
        length=LENGTHS[span],
        step=step,
    )


@kept_for(KEPT_SECONDS)
async def read_group_figures(
    app: Duetime, scope: Scope, by: Group, span: Span
) -> list[GroupFigures]:
    """Read the figures of the kinds or queues with most runs."""
    figures = Figures.of(app, scope, span)
    runs, *lateness = await figures.group_totals(by, "executed", "lateness_p50", "lateness_p99")
    lengths = await figures.group_totals(by, "duration_p50", "duration_p99")
    return [
        GroupFigures(
            name=None if name == OTHERS else name,
            runs=int(count or 0),
            per_minute=(count or 0) / (LENGTHS[span] / MINUTE),
            lateness_p50=lateness[0].get(name),
            lateness_p99=lateness[1].get(name),
            duration_p50=lengths[0].get(name),
            duration_p99=lengths[1].get(name),
        )
        for name, count in runs.items()
    ]


@kept_for(KEPT_SECONDS)
async def read_failed_since(app: Duetime, scope: Scope, since: datetime) -> int:
    """Read how many runs ended an action as failed since an instant."""
    figures = Figures(app, scope, since, _next_minute(app))
    [failed] = await figures.totals("failed")
    return int(failed or 0)


def _outcome_of(metrics: Sequence[MetricName]) -> str | None:
    """Return the outcome that is counted: metrics of several are not read together."""
    [outcome] = {METRICS[name].outcome for name in metrics}
    return None if outcome is None else outcome.value


def _next_minute(app: Duetime) -> datetime:
    """Return the end of this minute: series are of whole minutes, of which this is the last."""
    return app.runtime.clock.now().replace(second=0, microsecond=0) + MINUTE


def _outcomes(by_outcome: Series, steps: Series) -> tuple[OutcomeCounts, ...]:
    """Return the counts of each step; there is a line only for outcomes that there were."""
    counts: dict[datetime, dict[Outcome, int]] = defaultdict(dict)
    for line in _known(by_outcome):
        for point in line.points:
            counts[point.at][Outcome(line.value or "")] = int(point.value or 0)
    return tuple(OutcomeCounts(point.at, counts[point.at]) for point in steps.points)


def _known(series: Series) -> Sequence[Line]:
    """Return the lines of outcomes that this version knows."""
    known = {outcome.value for outcome in Outcome}
    return [line for line in series if line.value in known]
