"""What a handler's end means. Pure: the runner reports, `decide` answers, a store applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pydantic_core import to_jsonable_python

from duetime.errors import InvalidPayload
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Again, Ending, Finish, decide_loss
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import WISHES, Cancel, Fail, Snooze
from duetime.model.clock import micros_of
from duetime.model.lane import parking_lane, parse_lane
from duetime.model.payloads.codec import to_json
from duetime.model.state import Outcome, State

ERROR_LIMIT = 500
TRUNCATED = " [truncated]"


class Returned(NamedTuple):
    """A tuple, since nearly every run ends so: a frozen dataclass takes thrice as long."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    error: BaseException


@dataclass(frozen=True, slots=True)
class Undecodable:
    """Its stored data does not fit its kind: running it again would not mend that."""

    error: InvalidPayload


@dataclass(frozen=True, slots=True)
class TimedOut:
    after: float


@dataclass(frozen=True, slots=True)
class Released:
    """The worker gives the claim back: it stopped before the handler came to an end, or could
    not let it begin, and tries again after `delay` seconds."""

    reason: str | None = None
    delay: float | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """The connection of its transaction broke, and nothing of it remains."""

    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """No handler here for this kind or version of payload."""

    reason: str


End = Returned | Raised | Undecodable | TimedOut | Released | Broken | Parked


def decide(
    claim: Claim,
    end: End,
    *,
    retry: Retry,
    chance: float,
    started_at: int | None,
    max_result: int,
    asked_by: str | None = None,
) -> Ending:
    """The ending that `end` means for this claim. `chance` in [0, 1) is the jitter's dice;
    `asked_by` is who asked the handler to stop, if anybody did."""
    if isinstance(end, Returned):
        # As nearly every run ends: to find that out by matching takes ten times as long.
        if isinstance(end.value, WISHES):
            return _asked(claim, end.value, started_at, asked_by or claim.by)
        return _succeeded(claim, end.value, started_at, max_result)
    match end:
        case Raised(Snooze() | Cancel() | Fail() as error):
            return _asked(claim, error, started_at, asked_by or claim.by)
        case Undecodable(error):
            return _failed(claim, describe(error), started_at)
        case Raised(error):
            return _retried(claim, describe(error), retry, chance, started_at)
        case TimedOut(after):
            reason = f"TimeoutError: timed out after {after:g} s"
            return _retried(claim, reason, retry, chance, started_at)
        case Released(reason, delay):
            return _released(claim, reason, started_at)._replace(
                delay=None if delay is None else micros_of(delay)
            )
        case Broken(reason):
            ending = decide_loss(_as_expired(claim))
            return ending._replace(error=cut(f"{reason}; {ending.error}"), started_at=started_at)
        case Parked(reason):
            lane = parking_lane(claim.kind, claim.version, claim.lane)
            return _released(claim, reason, started_at)._replace(lane=lane)


def _released(claim: Claim, reason: str | None, started_at: int | None) -> Again:
    return Again(
        id=claim.id,
        token=claim.token,
        outcome=Outcome.released,
        refund=True,
        error=None if reason is None else cut(reason),
        started_at=started_at,
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
    )


def _asked(claim: Claim, error: Snooze | Cancel | Fail, started_at: int | None, by: str) -> Ending:
    if isinstance(error, Snooze):
        return Again(
            id=claim.id,
            token=claim.token,
            outcome=Outcome.snoozed,
            delay=micros_of(error.delay),
            refund=True,
            started_at=started_at,
        )
    if isinstance(error, Fail):
        return _failed(claim, _words(error), started_at)
    return Finish(
        id=claim.id,
        token=claim.token,
        state=State.cancelled,
        outcome=Outcome.cancelled,
        error=cut(_words(error)),
        cancelled_by=by,
        started_at=started_at,
        job=claim.job,
        triggered_by=claim.triggered_by,
    )


def _succeeded(claim: Claim, value: object, started_at: int | None, max_result: int) -> Ending:
    """A result that cannot be kept fails without retry: running again would not mend it."""
    try:
        result = None if value is None else to_json(to_jsonable_python(value))
        size = 0 if result is None else len(result.encode())
    except Exception as error:  # noqa: BLE001 - a value may raise anything when it is read
        return _failed(
            claim, f"its result is not JSON ({describe(error)}); return plain data", started_at
        )
    if size > max_result:
        reason = f"its result has {size:,} bytes of JSON, {max_result:,} are allowed"
        return _failed(claim, reason, started_at)
    # By their places, which takes half as long as by their names: no error, nobody who cancelled
    # it, never lost.
    end = (_SUCCEEDED, _WELL, result, None, started_at, None, 0)
    return Finish(claim.id, claim.token, *end, claim.job, claim.triggered_by)


# To ask an enum for one of its members takes longer than to ask a module.
_SUCCEEDED, _WELL = State.succeeded, Outcome.succeeded


def _retried(
    claim: Claim, reason: str, retry: Retry, chance: float, started_at: int | None
) -> Ending:
    pause = retry.pause(claim.tries, chance)
    if pause is None:
        return _failed(claim, reason, started_at)
    return Again(
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
        error=cut(reason),
        started_at=started_at,
        job=claim.job,
        triggered_by=claim.triggered_by,
        retried=claim.base_attempt > 0,
    )


def describe(error: BaseException) -> str:
    """An error as it is kept: its type and message, cut."""
    words = _words(error)
    return cut(f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - a run ends even if its error cannot be told
        return f"(its text cannot be had: {type(broken).__name__})"


def cut(text: str) -> str:
    """Storable text of at most 500 characters; says so when something was cut away."""
    clean = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return clean if len(clean) <= ERROR_LIMIT else clean[:ERROR_LIMIT] + TRUNCATED
