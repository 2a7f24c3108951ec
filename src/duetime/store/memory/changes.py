"""What a claim and its end do to a record of the store in memory, as pure functions."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from duetime.errors import IllegalState
from duetime.model.actions.action import Record, StoredRun, current_run
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Again, Ending, Finish
from duetime.model.actions.state_changes import freed
from duetime.model.state import State
from duetime.store.memory.lanes import Row


def require(verb: str, record: Record, *allowed: State) -> None:
    if record.state not in allowed:
        raise IllegalState(verb, record.id, record.state, allowed)


def due_time(due_at: int | None, delay: int | None, now: int) -> int:
    return due_at if due_at is not None else now + (delay or 0)


def row_of(record: Record, lane: str) -> Row:
    """Where it stands: in that lane, or in none while it waits for its parent."""
    return Row(record, None if record.waits else lane)


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
        freed(record),
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


def claim_of(row: Row, token: UUID) -> Claim:
    record = row.record
    return Claim(
        id=record.id,
        token=token,
        kind=record.kind,
        version=record.version,
        payload=record.payload,
        lane=row.lane or "",
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
    return Expired(
        record.id,
        token,
        record.queue,
        record.priority,
        record.tenant,
        record.losses,
        record.job,
        record.triggered_by,
    )
