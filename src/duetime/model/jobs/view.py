"""Jobs as users see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from duetime.model.clock import from_micros, maybe_from_micros, maybe_nearest, nearest_micros
from duetime.model.jobs.change import Unfinished
from duetime.model.jobs.job import JobRecord, Overlap
from duetime.model.lane import Priority
from duetime.model.state import Outcome


class JobState(StrEnum):
    """The state of a job. It is retired while no live worker declares it."""

    scheduled = "scheduled"
    running = "running"
    paused = "paused"
    retired = "retired"


@dataclass(frozen=True, slots=True)
class JobView:
    """A stored job with the figures of its occurrences."""

    job: JobRecord
    running: Unfinished | None
    dead_letters: int
    now: int
    # Whether the job is only what can be shown in place of one that cannot be read.
    unreadable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A named recurring definition, as of the moment of reading."""

    name: str
    app: str
    kind: str
    recurrence: str
    tz: str
    starts_at: datetime | None
    ends_at: datetime | None
    state: JobState
    enabled: bool
    next_due_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_outcome: Outcome | None
    consecutive_failures: int
    failing: bool
    last_error: str | None
    triggered_by: str | None
    paused_at: datetime | None
    paused_by: str | None
    pause_note: str | None
    paused_until: datetime | None
    dead_letters: int
    priority: Priority
    queue: str
    payload: object
    retry: str | None
    timeout: timedelta | None
    misfire: str
    misfire_after: timedelta | None
    overlap: Overlap
    jitter: timedelta
    alert_after: int
    tenant: str | None
    declared: bool
    removed: bool
    version: int
    created_at: datetime
    created_by: str
    modified_at: datetime | None
    modified_by: str | None


def as_job(view: JobView, payload: object) -> Job:
    """Return the job with its payload decoded."""
    job, definition, pause = view.job, view.job.definition, _with_pause(view)
    return Job(
        name=job.name,
        app=job.app,
        kind=definition.kind,
        recurrence=definition.recurrence,
        tz=definition.tz,
        starts_at=maybe_from_micros(definition.starts_at),
        ends_at=maybe_from_micros(definition.ends_at),
        state=state_of(view),
        enabled=pause.paused_at is None,
        next_due_at=maybe_from_micros(job.next_due_at),
        last_started_at=maybe_nearest(_started_at(view)),
        last_finished_at=maybe_from_micros(job.last_finished_at),
        last_outcome=job.last_outcome,
        consecutive_failures=job.consecutive_failures,
        failing=job.failing,
        last_error=job.last_error,
        triggered_by=(view.running or job).triggered_by,
        paused_at=maybe_nearest(pause.paused_at),
        paused_by=pause.paused_by,
        pause_note=pause.pause_note,
        paused_until=maybe_from_micros(pause.paused_until),
        dead_letters=view.dead_letters,
        priority=Priority.of_rank(definition.priority),
        queue=definition.queue,
        payload=payload,
        retry=definition.retry,
        timeout=_length(definition.timeout),
        misfire=definition.misfire,
        misfire_after=_length(definition.misfire_after),
        overlap=definition.overlap,
        jitter=timedelta(microseconds=definition.jitter),
        alert_after=definition.alert_after,
        tenant=definition.tenant,
        declared=job.declared,
        removed=job.removed_at is not None,
        version=job.version,
        created_at=from_micros(nearest_micros(job.created_at)),
        created_by=job.created_by,
        modified_at=maybe_nearest(job.modified_at),
        modified_by=job.modified_by,
    )


def _with_pause(view: JobView) -> JobRecord:
    """Return the job without a pause that has ended."""
    return view.job if view.job.paused(view.now) else view.job.unpaused()


def _started_at(view: JobView) -> int | None:
    return view.running.started_at if view.running else view.job.last_started_at


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else timedelta(microseconds=micros)


def state_of(view: JobView) -> JobState:
    if view.job.retired_at is not None:
        return JobState.retired
    if view.job.paused(view.now):
        return JobState.paused
    return JobState.scheduled if view.running is None else JobState.running
