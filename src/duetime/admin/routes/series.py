"""The routes of what happened by time: metrics, and the timeline."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from duetime.admin.arguments import Instant, ScopeQuery
from duetime.admin.call import Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import model_of, shallow
from duetime.errors import InvalidArgument
from duetime.model.health.figures import FigureGroup
from duetime.model.health.series import MetricName, Series
from duetime.model.timeline import MAX_LIMIT, Timeline

SERIES = RouteTable()

# Of a longer time, a timeline would show a small part of what there is.
MAX_TIMELINE = timedelta(days=366)
# What a timeline shows of jobs.
JOB_FIELDS = frozenset({"ticks", "ticks_capped"})

SeriesModel = model_of(Series, "Series", maybe=frozenset())
TimelineModel = model_of(Timeline, "Timeline", maybe=JOB_FIELDS)

SERIES_EXAMPLE = {
    "metric": "executed",
    "since": "2030-01-31T09:00:00Z",
    "until": "2030-01-31T09:02:00Z",
    "step": 60.0,
    "by": "kind",
    "lines": [
        {
            "value": "send-reminder",
            "points": [
                {"at": "2030-01-31T09:00:00Z", "value": 12},
                {"at": "2030-01-31T09:01:00Z", "value": 7},
            ],
        }
    ],
    "capped": False,
}
TIMELINE_EXAMPLE = {
    "start": "2030-01-31T09:00:00Z",
    "end": "2030-01-31T10:00:00Z",
    "at": "2030-01-31T09:30:00Z",
    "ran": [],
    "ran_capped": False,
    "scheduled": [],
    "scheduled_capped": False,
    "ticks": [
        {
            "job": "shop-report",
            "kind": "send-report",
            "queue": "default",
            "tenant": "acme",
            "ticks": ["2030-01-31T09:45:00Z"],
            "capped": False,
        }
    ],
    "ticks_capped": False,
}


class SeriesQuery(ScopeQuery):
    """Which metric, of which time, in which lines."""

    metric: MetricName
    since: Annotated[Instant | None, Field(description="by default an hour before until")] = None
    until: Annotated[Instant | None, Field(description="by default now")] = None
    step: Annotated[
        float | None, Field(gt=0, description="seconds, in whole minutes; by default a fitting one")
    ] = None
    by: Annotated[FigureGroup | None, Field(description="a line for each value")] = None


class TimelineQuery(ScopeQuery):
    """Which time: start <= instant < end, at most 366 days."""

    start: Instant
    end: Instant
    limit: Annotated[
        int, Field(ge=1, le=MAX_LIMIT, description="how many items each list may have")
    ] = 100


@SERIES.read(
    "/api/series", "actions.read", Answer("The series", SeriesModel, example=SERIES_EXAMPLE)
)
async def get_series(call: Call, query: Annotated[SeriesQuery, Query()]) -> Response:
    """How a metric of runs went by time."""
    series = await call.app.series(
        query.metric,
        since=query.since,
        until=query.until,
        step=query.step,
        by=query.by,
        tenant=call.scope,
    )
    return json_response(shallow(series))


@SERIES.read(
    "/api/timeline", "actions.read", Answer("The timeline", TimelineModel, example=TIMELINE_EXAMPLE)
)
async def get_timeline(call: Call, query: Annotated[TimelineQuery, Query()]) -> Response:
    """What ran, what is scheduled, and, with `jobs.read`, the coming ticks of jobs."""
    if query.end - query.start > MAX_TIMELINE:
        raise InvalidArgument("end", query.end, f"give at most {MAX_TIMELINE.days} days")
    shows_jobs = call.caller.allows("jobs.read")
    timeline = await call.app.timeline(
        query.start, query.end, limit=query.limit, ticks=shows_jobs, tenant=call.scope
    )
    hidden = frozenset() if shows_jobs else JOB_FIELDS
    return json_response({k: v for k, v in shallow(timeline).items() if k not in hidden})
