"""Jobs as users see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from duetime.model.clock import maybe_from_micros
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A named recurring definition, as of the moment of reading."""

    name: str
    kind: str
    recurrence: str
    tz: str
    state: JobState
    enabled: bool
    next_due_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_outcome: Outcome | None
    consecutive_failures: int
    last_error: str | None
    triggered_by: str | None
    paused_by: str | None
    pause_note: str | None
    paused_until: datetime | None
    dead_letters: int
    priority: Priority
    queue: str
    payload: object
    retry: str | None
    misfire: str
    overlap: Overlap
    jitter: timedelta
    alert_after: int
    tenant: str | None
    declared: bool
    removed: bool
    version: int


def as_job(view: JobView, payload: object) -> Job:
    """Return the job with its payload decoded."""
    job, definition, paused = view.job, view.job.definition, view.job.paused(view.now)
    started = view.running.started_at if view.running else job.last_started_at
    return Job(
        name=job.name,
        kind=definition.kind,
        recurrence=definition.recurrence,
        tz=definition.tz,
        state=_state(view, paused),
        enabled=not paused,
        next_due_at=maybe_from_micros(job.next_due_at),
        last_started_at=maybe_from_micros(started),
        last_finished_at=maybe_from_micros(job.last_finished_at),
        last_outcome=job.last_outcome,
        consecutive_failures=job.consecutive_failures,
        last_error=job.last_error,
        triggered_by=view.running.triggered_by if view.running else job.triggered_by,
        paused_by=job.paused_by if paused else None,
        pause_note=job.pause_note if paused else None,
        paused_until=maybe_from_micros(job.paused_until) if paused else None,
        dead_letters=view.dead_letters,
        priority=Priority.of_rank(definition.priority),
        queue=definition.queue,
        payload=payload,
        retry=definition.retry,
        misfire=definition.misfire,
        overlap=definition.overlap,
        jitter=timedelta(microseconds=definition.jitter),
        alert_after=definition.alert_after,
        tenant=definition.tenant,
        declared=job.declared,
        removed=job.removed_at is not None,
        version=job.version,
    )


def _state(view: JobView, paused: bool) -> JobState:
    if view.job.retired_at is not None:
        return JobState.retired
    if paused:
        return JobState.paused
    return JobState.scheduled if view.running is None else JobState.running
