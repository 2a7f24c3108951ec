"""Moves of an action as pure functions: how its record is before, how it is after."""

from __future__ import annotations

from dataclasses import replace

from duetime.model.action import NewAction, Record
from duetime.model.lane import lane_of
from duetime.model.state import State


def born(new: NewAction, due_at: int, created_at: int) -> Record:
    """A new action as a store keeps it."""
    return Record(
        id=new.id,
        kind=new.kind,
        version=new.version,
        payload=new.payload,
        state=State.scheduled,
        queue=new.queue,
        priority=new.priority,
        tenant=new.tenant,
        correlation_id=new.correlation_id,
        key=new.key,
        due_at=due_at,
        attempt=0,
        base_attempt=0,
        losses=0,
        token=None,
        worker=None,
        lease_until=None,
        started_at=None,
        progress=None,
        result=None,
        error=None,
        outcome=None,
        job=None,
        tick=None,
        triggered_by=None,
        after=None,
        after_on=None,
        created_at=created_at,
        created_by=new.by,
        modified_at=None,
        modified_by=None,
        cancelled_by=None,
        finished_at=None,
    )


def replaced(record: Record, new: NewAction, due_at: int, now: int) -> Record:
    """The same action with other work: what it went through so far no longer counts."""
    return replace(
        record,
        version=new.version,
        payload=new.payload,
        queue=new.queue,
        priority=new.priority,
        correlation_id=new.correlation_id,
        due_at=due_at,
        attempt=0,
        base_attempt=0,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=new.by,
    )


def cancelled(record: Record, by: str, now: int) -> Record:
    return replace(
        record,
        state=State.cancelled,
        cancelled_by=by,
        modified_at=now,
        modified_by=by,
        finished_at=now,
    )


def rescheduled(record: Record, due_at: int, by: str, now: int) -> Record:
    return replace(record, due_at=due_at, modified_at=now, modified_by=by)


def revived(record: Record, by: str, now: int) -> Record:
    """A failed action gets its whole budget again; its attempts are still counted on."""
    return replace(
        freed(record),
        due_at=now,
        base_attempt=record.attempt,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=by,
    )


def freed(record: Record) -> Record:
    """Scheduled: nothing of a run is left on it."""
    return replace(
        record,
        state=State.scheduled,
        token=None,
        worker=None,
        lease_until=None,
        started_at=None,
        progress=None,
        result=None,
        outcome=None,
        cancelled_by=None,
        finished_at=None,
    )


def home_of(record: Record) -> str:
    """The lane it belongs in when it is neither parked nor suspect."""
    return lane_of(record.queue, record.priority, record.tenant)


def told(record: Record) -> dict[str, object]:
    """What an audit entry says of an action before or after an act."""
    return {"state": record.state, "due_at": record.due_at}
