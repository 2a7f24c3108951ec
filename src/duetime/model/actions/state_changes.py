"""Moves of an action as pure functions: how its record is before, how it is after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duetime.model.actions.action import NewAction, Record
from duetime.model.lane import lane_of
from duetime.model.state import State


def _after(new: NewAction) -> dict[str, Any]:
    """What a child waits for; the fields of one that waits for nothing are empty."""
    child = new.after is not None
    return {
        "after": new.after,
        "after_on": new.on,
        "after_at": new.due_at if child else None,
        "after_delay": new.delay if child else None,
    }


def replaced(record: Record, new: NewAction, due_at: int | None, now: int) -> Record:
    """The same action with other work: what it went through so far no longer counts."""
    return replace(
        record,
        version=new.version,
        payload=new.payload,
        queue=new.queue,
        priority=new.priority,
        correlation_id=new.correlation_id,
        **_after(new),
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
    """A child that waits goes on waiting: it is then due at its parent's end, but not before."""
    when = {"after_at": due_at, "after_delay": None} if record.waits else {"due_at": due_at}
    return replace(record, **when, modified_at=now, modified_by=by)


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
    shown: dict[str, object] = {"state": record.state, "due_at": record.due_at}
    if record.waits:
        shown |= {"after_at": record.after_at, "after_delay": record.after_delay}
    return shown
