"""The verb of series: checks its arguments and returns an Operation."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

from duetime.api.arguments import Delay, TenantArgument, to_scope
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT, SECOND, from_micros, micros_of, to_micros
from duetime.model.health.figures import MINUTE, FigureFilter, FigureGroup
from duetime.model.health.series import (
    MAX_POINTS,
    MAX_POINTS_BY,
    METRICS,
    MetricName,
    Series,
    default_step,
    series_of,
)
from duetime.model.tenant import AMBIENT
from duetime.model.validation import instant, seconds
from duetime.registry.runtime import AppRuntime

DEFAULT_LENGTH = 60 * MINUTE


class SeriesVerbs:
    """Builds the operation that reads a series; a part of the verbs of an app."""

    runtime: AppRuntime

    def series(
        self,
        metric: MetricName,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: Delay | None = None,
        by: FigureGroup | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Operation[Series]:
        """How a metric of this tenant's runs went by time, from `since`, an hour ago by default, to
        `until`, by default now: a point for each `step` of whole minutes, in one line, or in a line
        for each queue, kind or outcome: those with most runs, and all others together."""
        name, group = _to_metric(metric), None if by is None else _to_group(by)
        start, end = self._span(since, until)
        length = _to_step(step, end - start)
        _refuse_too_many(end - start, length, group, step)
        chosen = METRICS[name]
        wanted = FigureFilter(
            since=start,
            until=end,
            step=length,
            by=group,
            buckets=chosen.buckets,
            outcome=None if chosen.outcome is None else chosen.outcome.value,
            tenant=to_scope(tenant),
        )
        flow = self.runtime.store.figures(wanted)
        return Operation(flow, lambda found: series_of(name, wanted, found))

    def _span(self, since: datetime | None, until: datetime | None) -> tuple[int, int]:
        """Return the time of the series, in whole minutes: by default, this one is the last."""
        if until is None:
            now = to_micros(self.runtime.clock.now())
            end = before = (now // MINUTE + 1) * MINUTE
        else:
            before = to_micros(instant("until", until))
            end = min(-(-before // MINUTE) * MINUTE, MAX_INSTANT // MINUTE * MINUTE)
        if since is None:
            if end - DEFAULT_LENGTH < MIN_INSTANT:
                raise InvalidArgument("until", until, "give a later instant, or since")
            return end - DEFAULT_LENGTH, end
        start = to_micros(instant("since", since))
        if start >= before:
            raise InvalidArgument("since", since, f"give an instant before {from_micros(before)}")
        return start // MINUTE * MINUTE, end


def _to_metric(metric: str) -> str:
    if not isinstance(metric, str) or metric not in METRICS:
        hint = did_you_mean(str(metric), METRICS)
        raise InvalidArgument("metric", metric, f"give one of {', '.join(METRICS)}{hint}")
    return metric


def _to_group(by: FigureGroup) -> FigureGroup:
    if by not in get_args(FigureGroup):
        hint = did_you_mean(str(by), get_args(FigureGroup))
        raise InvalidArgument("by", by, f'give "queue", "kind" or "outcome"{hint}')
    return by


def _to_step(step: Delay | None, length: int) -> int:
    if step is None:
        return default_step(length, MINUTE)
    micros = micros_of(seconds("step", step))
    if micros < MINUTE or micros % MINUTE:
        raise InvalidArgument("step", step, "give whole minutes: figures are kept by the minute")
    return micros


def _refuse_too_many(length: int, step: int, by: FigureGroup | None, given: Delay | None) -> None:
    most = MAX_POINTS if by is None else MAX_POINTS_BY
    points = -(-length // step)
    if points > most:
        least = -(-length // (most - 1) // MINUTE) * MINUTE // SECOND
        raise InvalidArgument(
            "step",
            given,
            f"that is {points} points, {most} are allowed: give at least {least} seconds, or a "
            "later since",
        )
