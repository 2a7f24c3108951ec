"""Decide what the result of a handler means for its action.

Pure functions: the runner reports, `decide` answers, a store applies the completion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from duetime.errors import InvalidPayload
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Completion, Finish, Reschedule, decide_loss
from duetime.model.actions.expiry import expiry_reason
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import SIGNALS, Fail, Release, RetryAfter, Signal, Snooze
from duetime.model.actions.stop import StopRequest
from duetime.model.clock import micros_of
from duetime.model.lane import parking_lane, parse_lane
from duetime.model.payloads.bounded import TooLarge, bounded_json
from duetime.model.safe_text import readable
from duetime.model.state import Outcome, State
from duetime.model.tenant import SYSTEM
from duetime.model.traceback_text import traceback_text

ERROR_LIMIT = 500
TRUNCATED = " [truncated]"


class Returned(NamedTuple):
    """The handler returned. A tuple, since nearly every run ends this way and a frozen dataclass
    takes three times as long to create."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    error: BaseException


@dataclass(frozen=True, slots=True)
class Undecodable:
    """The stored payload does not fit its kind: running the action again would not help."""

    error: InvalidPayload


@dataclass(frozen=True, slots=True)
class TimedOut:
    after: float


@dataclass(frozen=True, slots=True)
class Released:
    """The worker gives the claim back: it stopped before the handler ended, or could not start
    it. The action is run again after `delay` seconds."""

    reason: str | None = None
    delay: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectionBroken:
    """The connection of the handler's transaction broke, and the transaction was rolled back."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unhandled:
    """This worker has no handler for the kind or the payload version: park the action."""

    reason: str


@dataclass(frozen=True, slots=True)
class TooLate:
    """The action expired before its handler could be started."""

    expires_at: int


HandlerResult = (
    Returned | Raised | Undecodable | TimedOut | Released | ConnectionBroken | Unhandled | TooLate
)


def decide(
    claim: Claim,
    result: HandlerResult,
    *,
    retry: Retry,
    chance: float,
    started_at: int | None,
    max_result: int,
    stop: StopRequest | None = None,
) -> Completion:
    """Return the completion of a claim whose handler ended with `result`.

    `chance` in [0, 1) is the random part of the retry's jitter; `stop` is what asked the handler to
    stop, or None.
    """
    if isinstance(result, Returned):
        # The usual case: finding it by `match` takes ten times as long.
        if isinstance(result.value, SIGNALS):
            return _signalled(claim, result.value, retry, chance, started_at, stop)
        return _succeeded(claim, result.value, started_at, max_result)
    match result:
        case Raised(error) if isinstance(error, SIGNALS):
            return _signalled(claim, error, retry, chance, started_at, stop)
        case Undecodable(error):
            return _failed(claim, describe(error), started_at)
        case Raised(error):
            return _retried(claim, error, describe(error), retry, chance, started_at)
        case TimedOut(after):
            reason = f"TimeoutError: timed out after {after:g} s"
            return _retried(claim, TimeoutError(), reason, retry, chance, started_at)
        case Released(reason, delay):
            return _released(claim, reason, started_at)._replace(
                delay=None if delay is None else micros_of(delay)
            )
        case ConnectionBroken(reason):
            loss = decide_loss(_as_expired(claim))
            text = truncate_error(f"{reason}; {loss.error}")
            return loss._replace(error=text, started_at=started_at)
        case Unhandled(reason):
            lane = parking_lane(claim.kind, claim.version, claim.lane)
            return _released(claim, reason, started_at)._replace(lane=lane)
        case TooLate(expires_at):
            return _expired(claim, expires_at)


def with_traceback(completion: Completion, result: HandlerResult) -> Completion:
    """Return the completion with the traceback of its failed attempt, if an exception ended it."""
    failed = completion.outcome in (Outcome.retried, Outcome.failed)
    if not failed or not isinstance(result, Raised | Undecodable):
        return completion
    return completion._replace(traceback=traceback_text(result.error, indent=""))


def _released(claim: Claim, reason: str | None, started_at: int | None) -> Reschedule:
    return Reschedule(
        id=claim.id,
        token=claim.token,
        outcome=Outcome.released,
        refund=True,
        error=None if reason is None else truncate_error(reason),
        started_at=started_at,
    )


def _expired(claim: Claim, expires_at: int) -> Finish:
    return Finish(
        id=claim.id,
        token=claim.token,
        state=State.cancelled,
        outcome=Outcome.cancelled,
        error=expiry_reason(expires_at),
        cancelled_by=SYSTEM,
        job=claim.job,
        triggered_by=claim.triggered_by,
        refund=True,
    )


def _as_expired(claim: Claim) -> Expired:
    lane = parse_lane(claim.lane)
    return Expired(
        claim.id,
        claim.token,
        lane.queue,
        lane.priority,
        claim.tenant,
        claim.losses,
        claim.job,
        claim.triggered_by,
        claim.kind,
    )


def _signalled(
    claim: Claim,
    signal: Signal,
    retry: Retry,
    chance: float,
    started_at: int | None,
    stop: StopRequest | None,
) -> Completion:
    if isinstance(signal, Snooze):
        return Reschedule(
            id=claim.id,
            token=claim.token,
            outcome=Outcome.snoozed,
            delay=micros_of(signal.delay),
            refund=True,
            started_at=started_at,
        )
    if isinstance(signal, Fail):
        return _failed(claim, _message(signal), started_at)
    if isinstance(signal, RetryAfter):
        pause = None if retry.exhausted(claim.tries) else signal.delay
        return _tried_again(claim, truncate_error(_message(signal)), pause, started_at)
    if stop is not None:
        return _stopped(claim, _message(signal), retry, chance, started_at, stop)
    if isinstance(signal, Release):
        reason = f"{describe(signal)}{NOTHING_ASKED}"
        return _retried(claim, signal, reason, retry, chance, started_at)
    return _cancelled(claim, _message(signal), started_at, claim.by)


NOTHING_ASKED = (
    "; but ctx.stop_reason is None: released, it would start again at once; raise Snooze(delay) to "
    "run it again later"
)


def _stopped(
    claim: Claim,
    message: str,
    retry: Retry,
    chance: float,
    started_at: int | None,
    stop: StopRequest,
) -> Completion:
    """A handler that was asked to stop did so: what becomes of its action is for the one to say
    who asked. Only a person ends it for good."""
    match stop.reason:
        case "cancelled":
            return _cancelled(claim, message, started_at, stop.by or claim.by)
        case "timeout":
            reason = truncate_error(f"TimeoutError: its handler stopped at its timeout: {message}")
            return _retried(claim, TimeoutError(), reason, retry, chance, started_at)
        case "shutdown":
            return _released(claim, f"released as its worker stopped: {message}", started_at)
        case "lost":
            return _released(claim, f"released as its lease ran out: {message}", started_at)


def _cancelled(claim: Claim, message: str, started_at: int | None, by: str) -> Finish:
    return Finish(
        id=claim.id,
        token=claim.token,
        state=State.cancelled,
        outcome=Outcome.cancelled,
        error=truncate_error(message),
        cancelled_by=by,
        started_at=started_at,
        job=claim.job,
        triggered_by=claim.triggered_by,
    )


def _succeeded(claim: Claim, value: object, started_at: int | None, max_result: int) -> Completion:
    """Finish as succeeded. A result that cannot be stored fails without retry: running the handler
    again would not help."""
    try:
        result = None if value is None else bounded_json(value, max_result)
    except TooLarge as error:
        return _failed(claim, f"its result {error}", started_at)
    except BaseException as error:  # noqa: BLE001 - reading a value may raise anything
        return _failed(
            claim, f"its result is not JSON ({describe(error)}); return plain data", started_at
        )
    # Positional arguments take half as long as keywords: error, started_at, cancelled_by, lost.
    end = (_SUCCEEDED, _SUCCEEDED_OUTCOME, result, None, started_at, None, 0)
    return Finish(claim.id, claim.token, *end, claim.job, claim.triggered_by)


# A module global is faster to read than an enum member.
_SUCCEEDED, _SUCCEEDED_OUTCOME = State.succeeded, Outcome.succeeded


def _retried(
    claim: Claim,
    error: BaseException,
    reason: str,
    retry: Retry,
    chance: float,
    started_at: int | None,
) -> Completion:
    pause = retry.pause(claim.tries, chance) if retry.covers(error) else None
    return _tried_again(claim, reason, pause, started_at)


def _tried_again(
    claim: Claim, reason: str, pause: float | None, started_at: int | None
) -> Completion:
    """Schedule another attempt after a pause in seconds; fail if there is none."""
    if pause is None:
        return _failed(claim, reason, started_at)
    return Reschedule(
        id=claim.id,
        token=claim.token,
        outcome=Outcome.retried,
        delay=micros_of(pause),
        error=reason,
        started_at=started_at,
    )


def _failed(claim: Claim, reason: str, started_at: int | None) -> Finish:
    return Finish(
        id=claim.id,
        token=claim.token,
        state=State.failed,
        outcome=Outcome.failed,
        error=truncate_error(reason),
        started_at=started_at,
        job=claim.job,
        triggered_by=claim.triggered_by,
        retried=claim.base_attempt > 0,
    )


def describe(error: BaseException) -> str:
    """Return an error as it is stored: its type and message, truncated."""
    message = _message(error)
    return truncate_error(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def _message(error: BaseException) -> str:
    return readable(error, ERROR_LIMIT + 1)


def truncate_error(text: str) -> str:
    """Return storable text of at most 500 characters, marked if it was truncated."""
    clean = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return clean if len(clean) <= ERROR_LIMIT else clean[:ERROR_LIMIT] + TRUNCATED
