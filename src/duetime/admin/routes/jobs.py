"""The routes of recurring jobs: reading them, and changing their state."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import (
    NO_NOTE,
    NO_PAUSE,
    IfMatch,
    Instant,
    JobName,
    Note,
    NoteBody,
    NoteQuery,
    PauseBody,
    RequestModel,
    ScopeQuery,
    Switch,
)
from duetime.admin.call import AdminCall, Call, done_response, json_response, no_content
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import (
    Documents,
    JobModel,
    JobPage,
    OccurrenceModel,
    ScheduledModel,
    model_of,
    page,
    shallow,
)
from duetime.admin.idempotency import NewAnswer, act_once
from duetime.admin.jobs_filter import JobsFilter
from duetime.admin.preconditions import if_matches
from duetime.api.operation import Operation, perform
from duetime.model.actions.action import Action
from duetime.model.jobs.bulk import JobBulk
from duetime.model.jobs.view import Job

JOBS = RouteTable()

JobBulkModel = model_of(JobBulk, "JobBulk", maybe=frozenset())
ETAG = {"ETag": "the job's version, for If-Match"}


class FindJobs(JobsFilter, ScopeQuery):
    """The filter of a page of jobs."""

    removed: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class FindOccurrences(ScopeQuery):
    limit: Annotated[int, Field(ge=1, le=200)] = 20
    before: Annotated[
        UUID | Instant | None,
        Field(description="the last action of the page before, or an instant"),
    ] = None
    outcome: Literal["succeeded", "failed", "cancelled", "skipped"] | None = None


class OccurrencesDocument(BaseModel):
    """Occurrences of a job, newest first."""

    items: list[OccurrenceModel]  # type: ignore[valid-type]


class JobBulkBody(RequestModel):
    """Which jobs to pause or resume."""

    verb: Literal["pause", "resume"]
    names: list[str]
    note: Note = None
    until: Instant | None = None


class BackfillBody(RequestModel):
    """The past ticks to make up for: start <= tick < end."""

    start: Instant
    end: Instant
    dry_run: Switch = True
    note: Note = None


class BackfillDocument(BaseModel):
    """Ticks that had no occurrence."""

    ticks: list[Instant]
    dry_run: bool


# -- reading --------------------------------------------------------------------------------------


@JOBS.read("/api/jobs", "jobs.read", Answer("A page of jobs", JobPage))
async def find_jobs(call: Call, query: Annotated[FindJobs, Query()]) -> Response:
    """Jobs in the order of their names, a page at a time."""
    found = await call.app.jobs.list(
        **query.model_dump(exclude={"tenant"}, exclude_unset=True), tenant=call.scope
    )
    documents = Documents(call.app, call.caller)
    return json_response(page([documents.job(job) for job in found], found.next_cursor))


@JOBS.read(
    "/api/jobs/{name}", "jobs.read", Answer("The job", JobModel, headers=ETAG), subject="job"
)
async def get_job(call: Call, name: JobName, query: Annotated[ScopeQuery, Query()]) -> Response:
    """One job. Its ETag serves the If-Match of an edit."""
    return job_response(call, await call.app.jobs.get(name, tenant=call.scope))


@JOBS.read(
    "/api/jobs/{name}/runs",
    "jobs.read",
    Answer("The occurrences, newest first", OccurrencesDocument),
    subject="job",
)
async def get_job_runs(
    call: Call, name: JobName, query: Annotated[FindOccurrences, Query()]
) -> Response:
    """The occurrences of a job: ticks, skipped ticks and triggers, newest first."""
    job = await call.app.jobs.get(name, tenant=call.scope)
    found = await call.app.jobs.runs(
        name, limit=query.limit, before=query.before, outcome=query.outcome, tenant=call.scope
    )
    documents = Documents(call.app, call.caller)
    return json_response({"items": [documents.occurrence(item, job.kind) for item in found]})


# -- changing -------------------------------------------------------------------------------------


@JOBS.change(
    "DELETE",
    "/api/jobs/{name}",
    "jobs.remove",
    {204: Answer("Removed; its history stays")},
    problems=(409, 412),
    subject="job",
)
async def remove_job(
    call: Call, name: JobName, query: Annotated[NoteQuery, Query()], if_match: IfMatch = None
) -> Response:
    """Remove a job. Occurrences that wait are cancelled, those that run may finish."""
    removal = call.verbs.jobs.remove(name, by=call.by, note=query.note, tenant=call.scope)
    await perform(if_matches(call, if_match, removal), call.app.runtime)
    return no_content()


@JOBS.change(
    "POST",
    "/api/jobs/{name}/restore",
    "jobs.remove",
    {204: Answer("As it was before"), 200: Answer("The job", JobModel)},
    problems=(404, 409, 412),
)
async def restore_job(
    call: Call,
    name: JobName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
    if_match: IfMatch = None,
) -> Response:
    """Bring a removed job back."""
    restoring = call.verbs.jobs.restore(name, by=call.by, note=body.note, tenant=call.scope)
    return await _done(call, if_match, restoring)


@JOBS.change(
    "POST",
    "/api/jobs/{name}/pause",
    "jobs.pause",
    {204: Answer("Paused"), 200: Answer("The job", JobModel)},
    problems=(409, 412),
    subject="job",
    example={"note": "the bank is down", "until": "2030-01-31T09:00:00+01:00"},
)
async def pause_job(
    call: Call,
    name: JobName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[PauseBody, Body()] = NO_PAUSE,
    if_match: IfMatch = None,
) -> Response:
    """Stop a job's ticks until it is resumed, or until an instant."""
    pausing = call.verbs.jobs.pause(
        name, by=call.by, note=body.note, until=body.until, tenant=call.scope
    )
    return await _done(call, if_match, pausing)


@JOBS.change(
    "POST",
    "/api/jobs/{name}/resume",
    "jobs.pause",
    {204: Answer("Ticks again"), 200: Answer("The job", JobModel)},
    problems=(409, 412),
    subject="job",
)
async def resume_job(
    call: Call,
    name: JobName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
    if_match: IfMatch = None,
) -> Response:
    """Let a job tick again, from now on."""
    resuming = call.verbs.jobs.resume(name, by=call.by, note=body.note, tenant=call.scope)
    return await _done(call, if_match, resuming)


@JOBS.change(
    "POST",
    "/api/jobs/bulk",
    "jobs.pause",
    {200: Answer("What became of each name", JobBulkModel)},
    example={"verb": "pause", "names": ["shop-report", "shop-daily"], "note": "holidays"},
)
async def bulk_jobs(
    call: Call, body: Annotated[JobBulkBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Pause or resume many jobs, in one transaction."""
    done = await call.app.jobs.bulk(
        body.verb, body.names, by=call.by, note=body.note, until=body.until, tenant=call.scope
    )
    return json_response(shallow(done))


@JOBS.change(
    "POST",
    "/api/jobs/{name}/trigger",
    "jobs.trigger",
    {202: Answer("The action of this run", ScheduledModel)},
    problems=(409, 412),
    subject="job",
    creates=True,
)
async def trigger_job(
    call: Call,
    name: JobName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
    if_match: IfMatch = None,
) -> Response:
    """Run a job once now, even while it is paused."""
    operation = call.verbs.jobs.trigger(name, by=call.by, note=body.note, tenant=call.scope)
    documents = Documents(call.app, call.caller)

    def answer(action: Action) -> NewAnswer:
        location = call.path_to(f"/api/actions/{action.id}")
        return NewAnswer(documents.action(action, created=True), 202, location)

    return await act_once(call, if_matches(call, if_match, operation), answer)


@JOBS.change(
    "POST",
    "/api/jobs/{name}/backfill",
    "jobs.backfill",
    {
        202: Answer("The ticks whose occurrences were inserted", BackfillDocument),
        200: Answer("The ticks that would be made up for", BackfillDocument),
    },
    problems=(409, 412),
    subject="job",
    creates=True,
    example={"start": "2030-01-01T00:00:00Z", "end": "2030-01-08T00:00:00Z", "dry_run": True},
)
async def backfill_job(
    call: Call,
    name: JobName,
    body: Annotated[BackfillBody, Body()],
    query: Annotated[ScopeQuery, Query()],
    if_match: IfMatch = None,
) -> Response:
    """Make occurrences of past ticks that have none; a dry run only names the ticks."""
    operation = call.verbs.jobs.backfill(
        name,
        body.start,
        body.end,
        dry_run=body.dry_run,
        by=call.by,
        note=body.note,
        tenant=call.scope,
    )
    status = 200 if body.dry_run else 202
    return await act_once(
        call,
        if_matches(call, if_match, operation),
        lambda ticks: NewAnswer({"ticks": ticks, "dry_run": body.dry_run}, status),
    )


async def _done(call: AdminCall, if_match: str | None, act: Operation[Job]) -> Response:
    """Perform an act whose caller need not be told how the job is now."""
    job = await perform(if_matches(call, if_match, act), call.app.runtime)
    return done_response(call, Documents(call.app, call.caller).job(job))


def job_response(call: Call, job: Job, status: int = 200) -> Response:
    document = Documents(call.app, call.caller).job(job)
    return json_response(document, status, {"ETag": f'"{job.version}"'})
