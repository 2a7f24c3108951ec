"""The moves of an action as pure functions: how its record is before, how it is after."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from duetime.model.action import Record, StoredRun, current_run
from duetime.model.claim import Claim, Expired
from duetime.model.ending import Again, Ending, Finish
from duetime.model.lane import lane_of
from duetime.model.state import State
from duetime.store.memory_lanes import Row


def due_time(due_at: int | None, delay: int | None, now: int) -> int:
    return due_at if due_at is not None else now + (delay or 0)


def cancelled(record: Record, by: str, now: int) -> Record:
    return replace(
        record,
        state=State.cancelled,
        cancelled_by=by,
        modified_at=now,
        modified_by=by,
        finished_at=now,
    )


def revived(record: Record, by: str, now: int) -> Record:
    """A failed action gets its whole budget again; its attempts are still counted on."""
    return replace(
        _freed(record),
        due_at=now,
        base_attempt=record.attempt,
        losses=0,
        error=None,
        modified_at=now,
        modified_by=by,
    )


def claimed(record: Record, token: UUID, worker: str, lease_until: int, now: int) -> Record:
    return replace(
        record,
        state=State.running,
        token=token,
        worker=worker,
        lease_until=lease_until,
        attempt=record.attempt + 1,
        started_at=max(now, record.due_at or now),
    )


def finished(record: Record, ending: Finish, now: int) -> Record:
    return replace(
        record,
        state=ending.state,
        outcome=ending.outcome,
        result=ending.result,
        error=ending.error,
        started_at=_started(record, ending),
        cancelled_by=ending.cancelled_by,
        losses=record.losses + ending.lost,
        finished_at=now,
    )


def again(row: Row, ending: Again, now: int) -> Row:
    record = row.record
    due_at = record.due_at if ending.delay is None else now + ending.delay
    free = replace(
        _freed(record),
        due_at=due_at,
        attempt=record.attempt - ending.refund,
        losses=record.losses + ending.lost,
        error=ending.error,
    )
    return Row(free, ending.lane or row.lane)


def run_of(record: Record, ending: Again, now: int) -> StoredRun | None:
    """The run that just ended, as it joins the earlier ones."""
    run = current_run(record)
    return run and replace(
        run,
        started_at=_started(record, ending),
        finished_at=now,
        outcome=ending.outcome,
        result=ending.result,
        error=ending.error,
    )


def _started(record: Record, ending: Ending) -> int | None:
    return record.started_at if ending.started_at is None else ending.started_at


def _freed(record: Record) -> Record:
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


def claim_of(row: Row, token: UUID) -> Claim:
    record = row.record
    return Claim(
        id=record.id,
        token=token,
        kind=record.kind,
        version=record.version,
        payload=record.payload,
        lane=row.lane,
        tenant=record.tenant,
        correlation_id=record.correlation_id,
        due_at=record.due_at or 0,
        attempt=record.attempt,
        base_attempt=record.base_attempt,
        losses=record.losses,
        by=record.created_by,
        job=record.job,
        tick=record.tick,
        triggered_by=record.triggered_by,
    )


def expired_of(record: Record, token: UUID) -> Expired:
    return Expired(record.id, token, record.queue, record.priority, record.tenant, record.losses)


def told(record: Record) -> dict[str, object]:
    """What an audit entry says of an action before or after an act."""
    return {"state": record.state, "due_at": record.due_at}
