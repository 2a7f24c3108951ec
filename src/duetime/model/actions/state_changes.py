"""State changes of an action, as pure functions from a record to the changed record."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from duetime.model.actions.action import NewAction, Record, changed_record
from duetime.model.audit import changed_fields, payload_digest
from duetime.model.lane import PRIORITY_OF_RANK, lane_of
from duetime.model.state import State
from duetime.model.trace import current_trace


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
    return changed_record(
        record,
        version=new.version,
        payload=new.payload,
        queue=new.queue,
        priority=new.priority,
        correlation_id=new.correlation_id,
        **_parent_fields(new),
        due_at=due_at,
        expires_at=new.expires_at,
        trace=new.trace,
        attempt=0,
        base_attempt=0,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=new.by,
    )


def to_cancelled(record: Record, by: str, now: int) -> Record:
    return changed_record(
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
    return changed_record(record, **when, modified_at=now, modified_by=by)


def to_retried(record: Record, by: str, now: int) -> Record:
    """Return a failed action with its full retry budget; attempt numbers continue."""
    return changed_record(
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
    return changed_record(
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
        error_group=None,
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


def replacement_snapshots(
    before: Record, after: Record
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what an audit entry records of an action before and after it was replaced: of a
    changed payload its digest and the names of the changed fields, never a value."""
    old, new = _replaceable(before), _replaceable(after)
    changed = [name for name in old if old[name] != new[name]]
    snapshots = (
        audit_snapshot(before) | {name: old[name] for name in changed},
        audit_snapshot(after) | {name: new[name] for name in changed},
    )
    names = changed_fields(before.payload, after.payload)
    if names:
        snapshots[1]["payload_changed"] = names
    return snapshots


def _replaceable(record: Record) -> dict[str, object]:
    """Return the fields that a replacement may change, beside those of each snapshot."""
    return {
        "payload": payload_digest(record.payload),
        "version": record.version,
        "queue": record.queue,
        "priority": PRIORITY_OF_RANK.get(record.priority),
        "correlation_id": record.correlation_id,
        "expires_at": record.expires_at,
        "after": None if record.after is None else str(record.after),
        "on": record.after_on,
        "attempt": record.attempt,
        "losses": record.losses,
        "error": record.error is not None,
    }


def to_repeated(
    record: Record,
    *,
    action_id: UUID,
    by: str,
    due_at: int | None,
    delay: int | None,
    payload: tuple[int, str] | None,
) -> NewAction:
    """Return a new action like a finished one: of its kind, queue, priority, tenant and correlation
    id, with its payload or with another one, given as its version and text.

    It has no key, which another action may hold by now, no parent, no job, and no expiry, which
    was meant for the time of the first one.
    """
    version, text = payload or (record.version, record.payload)
    return NewAction(
        id=action_id,
        kind=record.kind,
        version=version,
        payload=text,
        queue=record.queue,
        priority=record.priority,
        tenant=record.tenant,
        correlation_id=record.correlation_id,
        key=None,
        lane=default_lane(record),
        due_at=due_at,
        delay=delay,
        by=by,
        trace=current_trace(),
    )


def repeat_snapshots(record: Record, new: NewAction) -> tuple[dict[str, object], dict[str, object]]:
    """Return what an audit entry records of a finished action that was repeated: the id of the new
    action, and of a changed payload what that of a replacement records."""
    before: dict[str, object] = {"state": record.state}
    after: dict[str, object] = {"state": record.state, "repeated_as": str(new.id)}
    if new.payload != record.payload:
        before["payload"] = payload_digest(record.payload)
        after["payload"] = payload_digest(new.payload)
        after["payload_changed"] = changed_fields(record.payload, new.payload)
    return before, after
