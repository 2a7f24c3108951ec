"""Event types, and the events that a change of an action or a job implies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Finish
from duetime.model.clock import from_micros, maybe_from_micros
from duetime.model.jobs.job import JobRecord
from duetime.model.lane import readable_lane
from duetime.model.state import State
from duetime.model.tenant import SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something changed: no event is emitted for a verb that changed nothing."""

    tenant: str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionEvent(Event):
    action_id: UUID
    kind: str
    correlation_id: str | None
    queue: str | None = None
    # The job that scheduled it. Not `job`, as which subscribers choose events of jobs.
    occurrence_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSucceeded(ActionEvent):
    result: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFailed(ActionEvent):
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCancelled(ActionEvent):
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRescheduled(ActionEvent):
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent(Event):
    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPaused(JobEvent):
    note: str | None
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResumed(JobEvent):
    """The job was resumed by a user, or its pause ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailing(JobEvent):
    """As many occurrences in a row failed as `alert_after` says; emitted once, until one
    succeeds."""

    consecutive_failures: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecovered(JobEvent):
    """An occurrence succeeded after JobFailing was emitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionApplied(Event):
    """The time in a row's column has come, and the declared transition was applied."""

    model: str
    table: str
    id: object
    column: str
    due_at: datetime
    effect: str
    field: str | None = None
    to: object = None


# Every event that is emitted; the classes above them are never emitted themselves.
EVENT_TYPES: tuple[type[Event], ...] = (
    ActionSucceeded,
    ActionFailed,
    ActionCancelled,
    ActionRescheduled,
    JobPaused,
    JobResumed,
    JobFailing,
    JobRecovered,
    TransitionApplied,
)

EVENT_BY_STATE: Mapping[State, type[ActionEvent]] = {
    State.succeeded: ActionSucceeded,
    State.failed: ActionFailed,
    State.cancelled: ActionCancelled,
}


def claim_subject(claim: Claim) -> dict[str, Any]:
    """Return the event fields that describe the action of a claim."""
    lane = readable_lane(claim.lane)
    return {
        "action_id": claim.id,
        "kind": claim.kind,
        "tenant": claim.tenant,
        "by": claim.by,
        "correlation_id": claim.correlation_id,
        "queue": None if lane is None else lane.queue,
        "occurrence_of": claim.job,
    }


def record_subject(record: Record) -> dict[str, Any]:
    """Return the event fields that describe the action of a record."""
    return {**_subject(record), "by": record.created_by}


def finish_event(subject: Mapping[str, Any], completion: Finish) -> Event:
    if completion.state is State.succeeded:
        result = None if completion.result is None else json.loads(completion.result)
        return ActionSucceeded(**subject, result=result)
    if completion.state is State.failed:
        return ActionFailed(**subject, error=completion.error)
    return ActionCancelled(**subject, reason=completion.error)


def job_events(before: JobRecord | None, after: JobRecord, by: str = SYSTEM) -> list[Event]:
    """Return the events implied by a job changing from `before` to `after`."""
    subject: Any = {"job": after.name, "tenant": after.tenant, "by": by}
    if before is None:
        return []
    events: list[Event] = []
    pause_over = before.paused_until is not None and before.paused_until <= (after.paused_at or 0)
    if pause_over and before.paused_at != after.paused_at:
        # The pause ended by itself, and the job was paused again before its next tick.
        events.append(JobResumed(**subject))
    if after.paused_at is not None and before.paused_at != after.paused_at:
        until = maybe_from_micros(after.paused_until)
        events.append(JobPaused(**subject, note=after.pause_note, until=until))
    if before.paused_at is not None and after.paused_at is None:
        events.append(JobResumed(**subject))
    if after.failing_since is not None and before.failing_since is None:
        failures, error = after.consecutive_failures, after.last_error
        events.append(JobFailing(**subject, consecutive_failures=failures, error=error))
    if before.failing_since is not None and after.failing_since is None:
        events.append(JobRecovered(**subject))
    return events


def cancelled_events(requested: Sequence[Record], settled: Sequence[Record] = ()) -> list[Event]:
    """Return the events for actions whose cancellation was requested, and for children that were
    cancelled when their parent finished."""
    events: list[Event] = [
        ActionCancelled(**_subject(record), by=record.cancelled_by or SYSTEM)
        for record in requested
        if record.state is State.cancelled
    ]
    cancelled = [child for child in settled if child.state is State.cancelled]
    return events + [ActionCancelled(**_subject(c), by=SYSTEM, reason=c.error) for c in cancelled]


def rescheduled_events(record: Record) -> list[Event]:
    """Return the event for a rescheduled action. For a child that still waits for its parent,
    `due_at` is the earliest time at which it can be due."""
    due_at = from_micros(record.due_at or record.after_at or 0)
    return [ActionRescheduled(**_subject(record), by=record.modified_by or SYSTEM, due_at=due_at)]


def _subject(record: Record) -> dict[str, Any]:
    return {
        "action_id": record.id,
        "kind": record.kind,
        "tenant": record.tenant,
        "correlation_id": record.correlation_id,
        "queue": record.queue,
        "occurrence_of": record.job,
    }
