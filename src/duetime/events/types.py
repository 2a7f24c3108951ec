"""Events: what happened, told to subscribers in this process after it was committed."""

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
from duetime.model.state import State
from duetime.model.tenant import SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something changed for real: an event is never sent for a verb that changed nothing."""

    tenant: str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionEvent(Event):
    action_id: UUID
    kind: str
    correlation_id: str | None


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
    """By somebody, or by itself at the end of its pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailing(JobEvent):
    """So many occurrences failed in a row: told once, until one succeeds."""

    consecutive_failures: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecovered(JobEvent):
    """It succeeded after it was told to be failing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionApplied(Event):
    """The time that a row's column names has come, and what it declares was done."""

    model: str
    table: str
    id: object
    column: str
    due_at: datetime
    effect: str
    field: str | None = None
    to: object = None


ENDINGS: Mapping[State, type[ActionEvent]] = {
    State.succeeded: ActionSucceeded,
    State.failed: ActionFailed,
    State.cancelled: ActionCancelled,
}


def of_claim(claim: Claim) -> dict[str, Any]:
    """What an event says of the action that a worker ran."""
    told = {"kind": claim.kind, "tenant": claim.tenant, "by": claim.by}
    return {"action_id": claim.id, "correlation_id": claim.correlation_id, **told}


def of_record(record: Record) -> dict[str, Any]:
    return {**_subject(record), "by": record.created_by}


def ending_event(subject: Mapping[str, Any], ending: Finish) -> Event:
    if ending.state is State.succeeded:
        result = None if ending.result is None else json.loads(ending.result)
        return ActionSucceeded(**subject, result=result)
    if ending.state is State.failed:
        return ActionFailed(**subject, error=ending.error)
    return ActionCancelled(**subject, reason=ending.error)


def job_events(before: JobRecord | None, after: JobRecord, by: str = SYSTEM) -> list[Event]:
    """What is to be told of a job that was so and is so."""
    subject: Any = {"job": after.name, "tenant": after.tenant, "by": by}
    if before is None:
        return []
    told: list[Event] = []
    ended = before.paused_until is not None and before.paused_until <= (after.paused_at or 0)
    if ended and before.paused_at != after.paused_at:
        # By itself, and somebody paused it again before its next tick could tell.
        told.append(JobResumed(**subject))
    if after.paused_at is not None and before.paused_at != after.paused_at:
        until = maybe_from_micros(after.paused_until)
        told.append(JobPaused(**subject, note=after.pause_note, until=until))
    if before.paused_at is not None and after.paused_at is None:
        told.append(JobResumed(**subject))
    if after.failing_since is not None and before.failing_since is None:
        failures, error = after.consecutive_failures, after.last_error
        told.append(JobFailing(**subject, consecutive_failures=failures, error=error))
    if before.failing_since is not None and after.failing_since is None:
        told.append(JobRecovered(**subject))
    return told


def cancellations(asked: Sequence[Record], settled: Sequence[Record] = ()) -> list[Event]:
    """Of those that somebody asked to cancel, and of children that were settled."""
    told: list[Event] = [
        ActionCancelled(**_subject(record), by=record.cancelled_by or SYSTEM)
        for record in asked
        if record.state is State.cancelled
    ]
    unmet = [child for child in settled if child.state is State.cancelled]
    return told + [ActionCancelled(**_subject(c), by=SYSTEM, reason=c.error) for c in unmet]


def reschedulings(record: Record) -> list[Event]:
    """A child that waits goes on waiting: of it, the earliest that it can be due is told."""
    due_at = from_micros(record.due_at or record.after_at or 0)
    return [ActionRescheduled(**_subject(record), by=record.modified_by or SYSTEM, due_at=due_at)]


def _subject(record: Record) -> dict[str, Any]:
    return {
        "action_id": record.id,
        "kind": record.kind,
        "tenant": record.tenant,
        "correlation_id": record.correlation_id,
    }
