"""The routes that edit a job and show when a rule ticks."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import (
    Duration,
    IfMatch,
    Instant,
    JobName,
    Note,
    RequestModel,
    ScopeQuery,
    Switch,
    Whole,
)
from duetime.admin.call import AdminCall, Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import Document, JobModel
from duetime.admin.preconditions import refuse_stale
from duetime.admin.problems import RequestRefused
from duetime.admin.routes.jobs import ETAG, job_response
from duetime.admin.rule_preview import next_ticks, noted_tick, to_rule, within_span
from duetime.errors import InvalidPayload, JobNotFound
from duetime.model.actions.retry import Retry
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.view import Job
from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.serialize import from_text

RECURRENCES = RouteTable()

MAX_PREVIEW = 50
MAX_RETRY_DELAYS = 1000
MAX_MISFIRE_LENGTH = 200

RecurrenceBody = Annotated[
    str | dict[str, Any],
    Field(
        description='a cron expression, or a rule as a job shows it: `{"every": 60}`, '
        '`{"instants": [...]}`, `{"any_of": [...]}`, `{"rule": ..., "without": ...}`',
    ),
]


class RetryBody(RequestModel):
    """How often, and with which pauses, a failed run is tried again: growing ones, or `delays`."""

    attempts: Annotated[Whole, Field(ge=1)] = 5
    delay: Duration = 1
    factor: Annotated[float, Field(strict=True, ge=1)] = 2
    max_delay: Duration = 300
    jitter: Switch = True
    delays: Annotated[
        list[Duration] | None,
        Field(
            max_length=MAX_RETRY_DELAYS, description="one for each retry, in place of the others"
        ),
    ] = None

    def policy(self) -> Retry:
        given = self.model_dump()
        delays = given.pop("delays")
        return Retry(**given) if delays is None else Retry(delays=delays)


class JobBody(RequestModel):
    """The definition of a job. Without `payload` an existing job keeps its own."""

    kind: str
    payload: Any = None
    recurrence: RecurrenceBody
    tz: str | None = None
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    misfire: Annotated[
        Literal["skip", "once"] | Annotated[str, Field(max_length=MAX_MISFIRE_LENGTH)],
        Field(description='or, as a job shows it, `{"all": {"limit": 100, "window": 86400}}`'),
    ] = "once"
    misfire_after: Duration | None = None
    overlap: Literal["skip", "queue", "allow"] = "skip"
    jitter: Duration = 0
    alert_after: Whole = 3
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    queue: str | None = None
    retry: Annotated[RetryBody | None, Field(description="null: as the handler says")] = None
    timeout: Annotated[Duration | None, Field(description="null: as the handler says")] = None
    note: Note = None


class PreviewQuery(ScopeQuery):
    count: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] = 5


class PreviewBody(RequestModel):
    """A rule that nothing is stored of."""

    recurrence: RecurrenceBody
    tz: str | None = None
    count: Annotated[Whole, Field(ge=1, le=MAX_PREVIEW)] = 5


class TickDocument(BaseModel):
    """An instant of a rule: in UTC, in the rule's zone, and what a clock change made of it."""

    tick: Instant
    local: str
    note: str | None


class PreviewDocument(BaseModel):
    """A rule in words, with its next ticks."""

    words: str
    ticks: list[TickDocument]


PREVIEW_EXAMPLE = {"recurrence": "30 2 * * *", "tz": "Europe/Paris", "count": 3}
JOB_EXAMPLE = {
    "kind": "send-report",
    "payload": {"report": "sales"},
    "recurrence": "0 6 * * 1",
    "tz": "Europe/Paris",
    "note": "the shop asked for it",
}


@RECURRENCES.change(
    "PUT",
    "/api/jobs/{name}",
    "jobs.edit",
    {
        200: Answer("The job after the edit", JobModel, headers=ETAG),
        201: Answer("The new job", JobModel, headers=ETAG),
    },
    problems=(409, 412, 428),
    example=JOB_EXAMPLE,
)
async def put_job(
    call: Call,
    name: JobName,
    body: Annotated[JobBody, Body()],
    query: Annotated[ScopeQuery, Query()],
    if_match: IfMatch = None,
) -> Response:
    """Create a job, or change it as it was when its ETag was read."""
    existing = await _existing(call, name)
    job = await call.app.jobs.put(
        name,
        to_rule(body.recurrence, body.tz),
        payload=_payload(call, body, existing),
        **{field: getattr(body, field) for field in PUT_FIELDS},
        misfire=_misfire(body.misfire),
        retry=None if body.retry is None else body.retry.policy(),
        tenant=call.tenant if existing is None else existing.tenant,
        by=call.by,
        version=_version(if_match, existing),
    )
    return job_response(call, job, 201 if existing is None else 200)


PUT_FIELDS = tuple(
    name
    for name in JobBody.model_fields
    if name not in ("kind", "payload", "recurrence", "tz", "misfire", "retry")
)


@RECURRENCES.read(
    "/api/jobs/{name}/preview",
    "jobs.read",
    Answer("The next ticks", PreviewDocument),
    subject="job",
)
async def preview_job(
    call: Call, name: JobName, query: Annotated[PreviewQuery, Query()]
) -> Response:
    """The next ticks of a job's rule, as if it were neither paused nor retired."""
    job = await call.app.jobs.get(name, tenant=call.scope)
    rule = from_text(job.recurrence, job.tz)
    ticks = list(next_ticks(within_span(rule, job), call.app.clock.now(), query.count))
    return json_response(preview_document(rule, ticks))


@RECURRENCES.change(
    "POST",
    "/api/recurrences/preview",
    "jobs.read",
    {200: Answer("The rule in words, and its next ticks", PreviewDocument)},
    example=PREVIEW_EXAMPLE,
)
async def preview_recurrence(
    call: Call, body: Annotated[PreviewBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """When a rule ticks, before a job is made of it."""
    rule = to_rule(body.recurrence, body.tz)
    ticks = list(next_ticks(rule, call.app.clock.now(), body.count))
    return json_response(preview_document(rule, ticks))


def preview_document(rule: Recurrence, ticks: list[datetime]) -> Document:
    return {
        "words": rule.describe(),
        "ticks": [
            {
                "tick": tick,
                "local": tick.astimezone(ZoneInfo(rule.tz)).isoformat(),
                "note": noted_tick(rule, tick).note,
            }
            for tick in ticks
        ],
    }


async def _existing(call: AdminCall, name: str) -> Job | None:
    try:
        return await call.app.jobs.get(name, tenant=call.scope)
    except JobNotFound:
        return None


def _version(if_match: str | None, existing: Job | None) -> int:
    """Return the version that the edit is of; 0 if the job must not exist yet."""
    if if_match is None:
        if existing is None:
            return 0
        raise RequestRefused(
            428,
            "precondition-required",
            f"job {existing.name!r} exists: read it, and send its ETag as If-Match",
            state=f"version {existing.version}",
        )
    refuse_stale(if_match, None if existing is None else existing.version)
    return 0 if existing is None else existing.version


def _misfire(text: str) -> Misfire:
    return Misfire.from_text(text) if text.startswith("{") else Misfire.of(text)


def _payload(call: AdminCall, body: JobBody, existing: Job | None) -> Any:
    """Return the payload of the body, or else that of the job, which keeps it."""
    if "payload" in body.model_fields_set:
        return call.app.runtime.payloads.parse(body.kind, json.dumps(body.payload))
    entry = call.app.runtime.payloads.named(body.kind)
    if existing is None or not isinstance(existing.payload, entry.type):
        raise InvalidPayload(body.kind, "give one: there is none of this kind to keep")
    return existing.payload
