"""Changes of a MemoryStore's rows by claims and completions, as pure functions."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from duetime.errors import IllegalState
from duetime.model.actions.action import Record, StoredRun, current_run
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.actions.state_changes import to_scheduled
from duetime.model.error_group import error_group
from duetime.model.state import Outcome, State
from duetime.store.memory.lanes import MemoryRow


def require(verb: str, record: Record, *allowed: State) -> None:
    if record.state not in allowed:
        raise IllegalState(verb, record.id, record.state, allowed)


def due_time(due_at: int | None, delay: int | None, now: int) -> int:
    return due_at if due_at is not None else now + (delay or 0)


def to_row(record: Record, lane: str) -> MemoryRow:
    """Return the row of a record: in that lane, or in none while it waits for its parent."""
    return MemoryRow(record, None if record.waits else lane)


def to_claimed(record: Record, token: UUID, worker: str, lease_until: int, now: int) -> Record:
    return replace(
        record,
        state=State.running,
        token=token,
        worker=worker,
        lease_until=lease_until,
        attempt=record.attempt + 1,
        started_at=max(now, record.due_at or now),
    )


def to_finished(record: Record, completion: Finish, now: int) -> Record:
    return replace(
        record,
        state=completion.state,
        outcome=completion.outcome,
        result=completion.result,
        error=completion.error,
        error_group=completion.error_group,
        attempt=record.attempt - completion.refund,
        started_at=None if completion.refund else _started_at(record, completion),
        cancelled_by=completion.cancelled_by,
        losses=record.losses + completion.lost,
        finished_at=now,
    )


def to_failed(record: Record, reason: str, now: int) -> Record:
    """Return a scheduled action as finished without a run."""
    return replace(
        record,
        state=State.failed,
        outcome=Outcome.failed,
        error=reason,
        error_group=error_group(reason),
        finished_at=now,
    )


def to_rescheduled_row(row: MemoryRow, completion: Reschedule, now: int) -> MemoryRow:
    record = row.record
    due_at = record.due_at if completion.delay is None else now + completion.delay
    free = replace(
        to_scheduled(record),
        due_at=due_at,
        attempt=record.attempt - completion.refund,
        losses=record.losses + completion.lost,
        error=completion.error,
    )
    return MemoryRow(free, completion.lane or row.lane)


def completed_run(record: Record, completion: Reschedule, now: int) -> StoredRun | None:
    """Return the run that just ended, as it is added to the earlier runs."""
    run = current_run(record)
    return run and replace(
        run,
        started_at=_started_at(record, completion),
        finished_at=now,
        outcome=completion.outcome,
        result=completion.result,
        error=completion.error,
    )


def _started_at(record: Record, completion: Completion) -> int | None:
    return record.started_at if completion.started_at is None else completion.started_at


def to_claim(row: MemoryRow, token: UUID) -> Claim:
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
        expires_at=record.expires_at,
        trace=record.trace,
    )


def to_expired(record: Record, token: UUID) -> Expired:
    return Expired(
        record.id,
        token,
        record.queue,
        record.priority,
        record.tenant,
        record.losses,
        record.job,
        record.triggered_by,
        record.kind,
    )
