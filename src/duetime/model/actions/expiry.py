"""Expiry: the instant after which no run of an action may start."""

from __future__ import annotations

from dataclasses import replace

from duetime.errors import ActionExpired, InvalidArgument
from duetime.model.actions.action import NewAction, Record
from duetime.model.clock import from_micros, nearest_micros, seconds_of
from duetime.model.state import State
from duetime.model.tenant import SYSTEM
from duetime.words.phrase import phrase


def early_expiry(new: NewAction, now: int) -> InvalidArgument | None:
    """Return the error of a new action that would expire before it can start."""
    if new.expires_at is None:
        return None
    expires_at = from_micros(new.expires_at)
    if new.expires_at <= now:
        passed = "it has passed, the store's clock says {now}; give a later instant"
        remedy = phrase(passed, now=shown_instant(now))
        return InvalidArgument("expires", expires_at, remedy)
    due_at = _due_at(new, now)
    if new.expires_at <= due_at:
        early = (
            "the action is not due before {due_at}, so it could never start; give an instant after "
            "its due time"
        )
        remedy = phrase(early, due_at=shown_instant(due_at))
        return InvalidArgument("expires", expires_at, remedy)
    return None


def _due_at(new: NewAction, now: int) -> int:
    """Return the earliest due time of a new action. The delay of a child counts from the end of its
    parent, which may be over."""
    if new.due_at is not None:
        return new.due_at
    return now if new.after is not None else now + (new.delay or 0)


def refuse_move_beyond_expiry(
    record: Record, *, due_at: int | None, delay: int | None, now: int
) -> None:
    """Raise InvalidArgument if an action could not start any more after it was rescheduled."""
    if record.expires_at is None:
        return
    expires_at = shown_instant(record.expires_at)
    if record.expires_at <= now:
        remedy = phrase(
            "the action expired at {expires_at}; schedule another one", expires_at=expires_at
        )
    elif record.expires_at <= (now + (delay or 0) if due_at is None else due_at):
        remedy = phrase(
            "the action expires at {expires_at}; give an earlier time, or cancel it and schedule "
            "another one",
            expires_at=expires_at,
        )
    else:
        return
    if due_at is not None:
        raise InvalidArgument("at", from_micros(due_at), remedy)
    raise InvalidArgument("delay", seconds_of(delay or 0), remedy)


def can_be_retried(record: Record, now: int) -> bool:
    """Return whether the action could still start."""
    return record.expires_at is None or record.expires_at > now


def refuse_expired_retry(record: Record, now: int) -> None:
    if not can_be_retried(record, now):
        raise ActionExpired("retry", record.id, record.state, shown_instant(record.expires_at or 0))


def can_never_start(record: Record, now: int) -> bool:
    """Return whether a scheduled action has expired. At the instant itself it may still start."""
    expires_at = record.expires_at
    return record.state is State.scheduled and expires_at is not None and expires_at < now


def to_expired(record: Record, now: int) -> Record:
    """Return the action as cancelled because it expired."""
    return replace(
        record,
        state=State.cancelled,
        error=expiry_reason(record.expires_at or 0),
        cancelled_by=SYSTEM,
        modified_at=now,
        modified_by=SYSTEM,
        finished_at=now,
    )


def expiry_reason(expires_at: int) -> str:
    """Return the error of an action that was cancelled because it expired."""
    return f"expired at {shown_instant(expires_at)}: it could not be started by then"


def shown_instant(micros: int) -> str:
    return f"{from_micros(nearest_micros(micros)):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
