"""State changes of an action, as pure functions from a record to the changed record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duetime.model.actions.action import NewAction, Record
from duetime.model.lane import lane_of
from duetime.model.state import State


def _parent_fields(new: NewAction) -> dict[str, Any]:
    """Return the fields that say what a child waits for; all None without a parent."""
    child = new.after is not None
    return {
        "after": new.after,
        "after_on": new.on,
        "after_at": new.due_at if child else None,
        "after_delay": new.delay if child else None,
    }


def to_replaced(record: Record, new: NewAction, due_at: int | None, now: int) -> Record:
    """Return the action with new data and time; its attempts and losses are reset."""
    return replace(
        record,
        version=new.version,
        payload=new.payload,
        queue=new.queue,
        priority=new.priority,
        correlation_id=new.correlation_id,
        **_parent_fields(new),
        due_at=due_at,
        attempt=0,
        base_attempt=0,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=new.by,
    )


def to_cancelled(record: Record, by: str, now: int) -> Record:
    return replace(
        record,
        state=State.cancelled,
        cancelled_by=by,
        modified_at=now,
        modified_by=by,
        finished_at=now,
    )


def to_rescheduled(record: Record, due_at: int, by: str, now: int) -> Record:
    """Return the action with a new due time. A waiting child keeps waiting: it becomes due when its
    parent ends, but no earlier than `due_at`."""
    when = {"after_at": due_at, "after_delay": None} if record.waits else {"due_at": due_at}
    return replace(record, **when, modified_at=now, modified_by=by)


def to_retried(record: Record, by: str, now: int) -> Record:
    """Return a failed action with its full retry budget; attempt numbers continue."""
    return replace(
        to_scheduled(record),
        due_at=now,
        base_attempt=record.attempt,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=by,
    )


def to_scheduled(record: Record) -> Record:
    """Return the action as scheduled, with all fields of its run cleared."""
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


def default_lane(record: Record) -> str:
    """Return the lane of an action that is neither parked nor suspect."""
    return lane_of(record.queue, record.priority, record.tenant)


def audit_snapshot(record: Record) -> dict[str, object]:
    """Return the fields of an action that an audit entry records before and after a change."""
    fields: dict[str, object] = {"state": record.state, "due_at": record.due_at}
    if record.waits:
        fields |= {"after_at": record.after_at, "after_delay": record.after_delay}
    return fields
