"""Occurrences: the actions of a job, one for each tick or trigger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.inserted import born
from duetime.model.clock import maybe_from_micros
from duetime.model.jobs.change import NewOccurrence, Unfinished, last_of
from duetime.model.jobs.job import JobRecord, Overlap
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import SYSTEM


def occurrence(
    job: JobRecord,
    action_id: UUID,
    *,
    tick: int | None = None,
    due_at: int | None = None,
    after: UUID | None = None,
    triggered_by: str | None = None,
    skipped: str | None = None,
) -> NewOccurrence:
    """Due at an instant, or now; one with `after` waits until that one has come to an end."""
    definition = job.definition
    action = NewAction(
        id=action_id,
        kind=definition.kind,
        version=definition.payload_version,
        payload=definition.payload,
        queue=definition.queue,
        priority=definition.priority,
        tenant=definition.tenant,
        correlation_id=None,
        key=None,
        lane=lane_of(definition.queue, definition.priority, definition.tenant),
        due_at=due_at,
        delay=0 if due_at is None else None,
        by=triggered_by or SYSTEM,
        after=after,
        on=None if after is None else "finished",
    )
    return NewOccurrence(
        action=action, job=job.name, tick=tick, triggered_by=triggered_by, skipped=skipped
    )


def skipped(new: NewOccurrence, reason: str) -> NewOccurrence:
    """It will not run, unless it was skipped anyway for a reason of its own."""
    if new.skipped is not None:
        return new
    return replace(new, skipped=reason, action=new.action._replace(after=None, on=None))


def relinked(
    asked: Iterable[NewOccurrence], fresh: Callable[[NewOccurrence], bool]
) -> list[NewOccurrence]:
    """Those whose tick is fresh; what would wait for one that is not waits for its predecessor."""
    kept: list[NewOccurrence] = []
    instead: dict[UUID, UUID | None] = {}
    for one in asked:
        after = one.action.after
        if after in instead:
            after = instead[after]
            on = None if after is None else one.action.on
            one = replace(one, action=one.action._replace(after=after, on=on))
        if fresh(one):
            kept.append(one)
        else:
            instead[one.action.id] = after
    return kept


def in_turn(
    back: Iterable[Record], job: JobRecord, unfinished: Sequence[Unfinished]
) -> list[Record]:
    """Occurrences that are brought back wait like others for what is unfinished, and for each
    other, unless they may overlap."""
    if job.definition.overlap is Overlap.allow:
        return list(back)
    queue: list[Record] = []
    last = last_of(unfinished)
    for one in back:
        queue.append(one if last is None else _waiting(one, last))
        last = one.id
    return queue


def _waiting(record: Record, parent: UUID) -> Record:
    return replace(
        record, due_at=None, after=parent, after_on="finished", after_at=None, after_delay=None
    )


def due_of(new: NewOccurrence, now: int) -> int | None:
    """None while it waits for another."""
    if new.action.after is not None:
        return None
    return now if new.action.due_at is None else new.action.due_at


def happened(new: NewOccurrence, now: int) -> Record:
    """As a store keeps it: due, waiting, or born cancelled."""
    record = replace(
        born(new.action, due_of(new, now), now),
        job=new.job,
        tick=new.tick,
        triggered_by=new.triggered_by,
    )
    if new.skipped is None:
        return record
    return replace(
        record,
        state=State.cancelled,
        outcome=Outcome.skipped,
        error=new.skipped,
        finished_at=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One tick or trigger of a job and what became of it; `tick` is None for a trigger."""

    tick: datetime | None
    action_id: UUID
    state: State
    started_at: datetime | None
    finished_at: datetime | None
    outcome: Outcome | None
    retries: int
    error: str | None
    started_by: str
    worker: str | None
    late_by: timedelta | None


def as_occurrence(record: Record) -> Occurrence:
    nominal = record.due_at if record.tick is None else record.tick
    late = (
        None
        if record.started_at is None or nominal is None
        else timedelta(microseconds=record.started_at - nominal)
    )
    return Occurrence(
        tick=maybe_from_micros(record.tick),
        action_id=record.id,
        state=record.state,
        started_at=maybe_from_micros(record.started_at),
        finished_at=maybe_from_micros(record.finished_at),
        outcome=_outcome(record),
        retries=max(record.attempt - 1, 0),
        error=record.error,
        started_by=record.triggered_by or SYSTEM,
        worker=record.worker,
        late_by=late,
    )


def _outcome(record: Record) -> Outcome | None:
    if record.outcome is None and record.state is State.cancelled:
        return Outcome.cancelled
    return record.outcome
