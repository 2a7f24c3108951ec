"""What is logged when a run did not succeed."""

from __future__ import annotations

from duetime.logs import get_log
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Completion, Reschedule
from duetime.model.actions.current_run import run_fields
from duetime.model.actions.outcome import HandlerResult, Raised, Returned, Undecodable
from duetime.model.actions.signals import Cancel, Fail
from duetime.model.clock import seconds_of
from duetime.model.state import Outcome

log = get_log("duetime.worker")


def log_end(claim: Claim, result: HandlerResult, completion: Completion) -> None:
    """Log a failed attempt with the ids to find it by; the last one also with its traceback. What
    its handler asked for is not logged, unless it was done otherwise."""
    error = error_of(result)
    if isinstance(error, Cancel) and completion.outcome is Outcome.released:
        _log_released(claim, completion)
    elif completion.outcome is Outcome.retried and isinstance(completion, Reschedule):
        _log_attempt(claim, completion, seconds_of(completion.delay or 0))
    elif completion.outcome is Outcome.failed and not isinstance(error, Fail):
        _log_failure(claim, completion, error)


def error_of(result: HandlerResult) -> BaseException | None:
    if isinstance(result, Returned):
        return result.value if isinstance(result.value, BaseException) else None
    return result.error if isinstance(result, Raised | Undecodable) else None


def _log_released(claim: Claim, completion: Completion) -> None:
    log.warning(
        "action %s (%s) is released, not cancelled (%s): it sent Cancel, which would end it for "
        "good, although nobody cancelled it; if ctx.stop_reason is 'shutdown', raise Release()",
        claim.id,
        claim.kind,
        completion.error,
        extra=run_fields(claim),
    )


def _log_attempt(claim: Claim, completion: Completion, pause: float) -> None:
    log.warning(
        "action %s (%s) failed in attempt %d, retrying in %.1f s: %s",
        claim.id,
        claim.kind,
        claim.attempt,
        pause,
        completion.error,
        extra=run_fields(claim),
    )


def _log_failure(claim: Claim, completion: Completion, error: BaseException | None) -> None:
    log.error(
        "action %s (%s) failed in attempt %d: %s",
        claim.id,
        claim.kind,
        claim.attempt,
        completion.error,
        exc_info=error,
        extra=run_fields(claim),
    )
