"""Every result of a handler becomes a completion that every store can keep."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.apps import case_id
from duetime import Cancel, Fail, Outcome, Release, Retry, RetryAfter, Snooze, State
from duetime.errors import InvalidArgument, InvalidPayload
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.actions.outcome import (
    HandlerResult,
    Raised,
    Returned,
    TimedOut,
    Undecodable,
    decide,
    truncate_error,
)
from duetime.model.actions.stop import StopReason, StopRequest

CLAIM = Claim(
    id=UUID(int=1),
    token=UUID(int=2),
    kind="note",
    version=1,
    payload="{}",
    lane="1.0.default",
    tenant=None,
    correlation_id=None,
    due_at=0,
    attempt=1,
    base_attempt=0,
    losses=0,
    by="ann",
    job=None,
    tick=None,
    triggered_by=None,
)


def completion(
    result: HandlerResult,
    retry: Retry | None = None,
    max_result: int = 1000,
    stop: StopRequest | None = None,
) -> Completion:
    return decide(
        CLAIM,
        result,
        retry=retry or Retry.none(),
        chance=0.0,
        started_at=7,
        max_result=max_result,
        stop=stop,
    )


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text from me")


class HostileResult:
    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]
        raise RuntimeError("no data from me")

    def __repr__(self) -> str:
        raise RuntimeError("no text from me")


def deep() -> object:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def circle() -> object:
    ring: list[object] = []
    ring.append(ring)
    return ring


RESULTS = [
    object(),
    HostileResult(),
    deep(),
    circle(),
    float("nan"),
    {"x": float("inf")},
    "\ud800",
    b"\xff",
    {1, 2, object()},
    lambda: None,
    Snooze,
    (n for n in [object()]),
]


@pytest.mark.parametrize("value", RESULTS, ids=lambda v: type(v).__name__)
def test_a_result_that_is_not_json_fails_the_action_and_is_not_retried(value: object) -> None:
    done = completion(Returned(value), Retry(attempts=5))
    assert isinstance(done, Finish)
    assert (done.state, done.outcome, done.result) == (State.failed, Outcome.failed, None)
    assert "result is not JSON" in str(done.error)


def test_a_huge_result_fails_the_action_and_says_how_large_it_was() -> None:
    done = completion(Returned("x" * 999), max_result=1000)
    assert isinstance(done, Finish)
    assert done.state is State.failed
    assert "1,001 bytes" in str(done.error)
    fits = completion(Returned("x" * 998), max_result=1000)
    assert isinstance(fits, Finish)
    assert fits.state is State.succeeded


@pytest.mark.parametrize("error", [Hostile(), Fail(Hostile())])  # type: ignore[arg-type]
def test_an_error_without_text_is_still_an_error(error: Exception) -> None:
    done = completion(Raised(error))
    assert isinstance(done, Finish)
    assert done.state is State.failed
    assert "cannot be had: RuntimeError" in str(done.error)


@given(st.text(st.characters(codec=None)))
def test_error_text_is_always_storable_and_never_long(text: str) -> None:
    kept = truncate_error(text)
    kept.encode()
    assert "\x00" not in kept
    assert len(kept) <= 500 + len(" [truncated]")
    assert truncate_error(kept) == kept


@pytest.mark.parametrize(("length", "truncated"), [(500, False), (501, True), (5000, True)])
def test_a_reason_is_cut_to_500_characters(length: int, truncated: bool) -> None:
    done = completion(Returned(Fail("é" * length)))
    assert isinstance(done, Finish)
    assert done.error == ("é" * 500 + " [truncated]" if truncated else "é" * length)


def test_data_that_does_not_fit_is_not_retried() -> None:
    done = completion(Undecodable(InvalidPayload("note", "x")), Retry(attempts=5))
    assert isinstance(done, Finish)
    assert done.state is State.failed


def test_an_invalid_payload_error_raised_by_a_handler_is_retried() -> None:
    """The handler may have scheduled an invalid payload itself."""
    done = completion(Raised(InvalidPayload("note", "x")), Retry(delays=[3]))
    assert isinstance(done, Reschedule)
    assert done.outcome is Outcome.retried


@pytest.mark.parametrize("how", [Returned, Raised])
def test_snooze_gives_the_attempt_back_even_when_none_is_left(how: type[Returned]) -> None:
    done = completion(how(Snooze(90)), Retry.none())
    assert isinstance(done, Reschedule)
    assert (done.outcome, done.delay, done.refund) == (Outcome.snoozed, 90_000_000, True)


@pytest.mark.parametrize("how", [Returned, Raised])
def test_cancel_and_fail_are_not_retried(how: type[Returned]) -> None:
    cancelled = completion(how(Cancel("not wanted")), Retry(attempts=5))
    failed = completion(how(Fail("hopeless")), Retry(attempts=5))
    assert isinstance(cancelled, Finish)
    assert isinstance(failed, Finish)
    assert (cancelled.state, cancelled.error) == (State.cancelled, "not wanted")
    assert cancelled.cancelled_by == "ann"
    assert (failed.state, failed.error) == (State.failed, "hopeless")


STOPS = [Cancel("stopped at row 5"), Release("stopped at row 5")]


@pytest.mark.parametrize("signal", STOPS, ids=lambda signal: type(signal).__name__)
@pytest.mark.parametrize("how", [Returned, Raised])
class TestStoppingOnRequest:
    """Cancel and Release mean the same once a stop was asked for: what was asked."""

    @pytest.mark.parametrize("reason", ["shutdown", "lost"])
    def test_what_merely_happened_ends_no_action(
        self, how: type[Returned], signal: Exception, reason: StopReason
    ) -> None:
        done = completion(how(signal), Retry.none(), stop=StopRequest(reason))
        assert isinstance(done, Reschedule)
        assert (done.outcome, done.refund, done.delay) == (Outcome.released, True, None)
        assert (done.lane, done.lost) == (None, 0)
        assert "stopped at row 5" in str(done.error)

    def test_an_actor_who_asked_cancels_it(self, how: type[Returned], signal: Exception) -> None:
        done = completion(how(signal), Retry(attempts=5), stop=StopRequest("cancelled", "bob"))
        assert isinstance(done, Finish)
        assert (done.state, done.cancelled_by) == (State.cancelled, "bob")
        assert done.error == "stopped at row 5"

    def test_a_timeout_is_an_attempt(self, how: type[Returned], signal: Exception) -> None:
        stop = StopRequest("timeout")
        done = completion(how(signal), Retry(delays=[3]), stop=stop)
        assert isinstance(done, Reschedule)
        assert (done.outcome, done.delay, done.refund) == (Outcome.retried, 3_000_000, False)
        assert str(done.error).startswith("TimeoutError: ")
        assert "stopped at row 5" in str(done.error)
        last = completion(how(signal), Retry.none(), stop=stop)
        assert isinstance(last, Finish)
        assert last.state is State.failed


@pytest.mark.parametrize("how", [Returned, Raised])
def test_a_release_that_nothing_asked_for_is_a_failed_attempt(how: type[Returned]) -> None:
    """Released, it would start again at once, without end."""
    done = completion(how(Release()), Retry(delays=[3]))
    assert isinstance(done, Reschedule)
    assert (done.outcome, done.delay, done.refund) == (Outcome.retried, 3_000_000, False)
    assert "Snooze(delay)" in str(done.error)
    last = completion(how(Release("enough")), Retry.none())
    assert isinstance(last, Finish)
    assert last.state is State.failed
    assert str(last.error).startswith("Release: enough")


@pytest.mark.parametrize("reason", ["cancelled", "lost", "timeout", "shutdown"])
@pytest.mark.parametrize("how", [Returned, Raised])
def test_other_signals_and_errors_mean_what_they_say_whatever_stops_the_run(
    how: type[Returned], reason: StopReason
) -> None:
    stop = StopRequest(reason)
    outcomes = [completion(how(signal), stop=stop).outcome for signal in (Snooze(1), Fail("x"))]
    assert outcomes == [Outcome.snoozed, Outcome.failed]
    assert completion(Returned("a part"), stop=stop).outcome is Outcome.succeeded
    assert completion(Raised(ValueError()), stop=stop).outcome is Outcome.failed


class TestRetryByException:
    RETRY = Retry(delays=[3, 3], on=(ConnectionError, TimeoutError), never=ConnectionResetError)

    @pytest.mark.parametrize(
        ("result", "outcome"),
        [
            (Raised(ConnectionError("x")), Outcome.retried),
            (Raised(BrokenPipeError("x")), Outcome.retried),
            (Raised(ConnectionResetError("x")), Outcome.failed),
            (Raised(ValueError("x")), Outcome.failed),
            (TimedOut(1.5), Outcome.retried),
            (Raised(TimeoutError()), Outcome.retried),
            (Raised(RetryAfter(9)), Outcome.retried),
        ],
        ids=repr,
    )
    def test_some_are_retried(self, result: HandlerResult, outcome: Outcome) -> None:
        assert completion(result, self.RETRY).outcome is outcome

    def test_a_timeout_may_be_final(self) -> None:
        never = Retry(delays=[3], never=TimeoutError)
        stop = StopRequest("timeout")
        ends: list[HandlerResult] = [TimedOut(1.5), Raised(Cancel()), Raised(Release())]
        outcomes = {completion(end, never, stop=stop).outcome for end in ends}
        assert outcomes == {Outcome.failed}
        assert completion(Raised(ValueError()), never).outcome is Outcome.retried


@pytest.mark.parametrize("how", [Returned, Raised])
class TestRetryAfter:
    def test_it_counts_as_an_attempt(self, how: type[Returned]) -> None:
        done = completion(how(RetryAfter(90, "rate limited")), Retry(delays=[3]))
        assert isinstance(done, Reschedule)
        assert (done.outcome, done.delay, done.refund) == (Outcome.retried, 90_000_000, False)
        assert done.error == "rate limited"

    def test_it_fails_when_no_attempt_is_left(self, how: type[Returned]) -> None:
        done = completion(how(RetryAfter(90, "rate limited")), Retry.none())
        assert isinstance(done, Finish)
        assert (done.state, done.outcome) == (State.failed, Outcome.failed)
        assert done.error == "rate limited"

    def test_it_says_what_it_did_without_a_reason(self, how: type[Returned]) -> None:
        done = completion(how(RetryAfter(timedelta(minutes=2))), Retry(attempts=2))
        assert isinstance(done, Reschedule)
        assert done.delay == 120_000_000
        assert "120 s" in str(done.error)


def test_a_timeout_is_a_failed_attempt() -> None:
    done = completion(TimedOut(1.5), Retry(delays=[3]))
    assert isinstance(done, Reschedule)
    assert (done.outcome, done.delay, done.refund) == (Outcome.retried, 3_000_000, False)
    assert "1.5 s" in str(done.error)


@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), "soon", None, True])
@pytest.mark.parametrize("signal", [Snooze, RetryAfter])
def test_a_pause_that_is_no_valid_duration_is_refused(
    signal: type[Snooze | RetryAfter], delay: float
) -> None:
    with pytest.raises(InvalidArgument, match="delay"):
        signal(delay)


@pytest.mark.parametrize("reason", [7, b"text", ["text"], ValueError("text")], ids=case_id)
def test_a_reason_that_is_no_text_is_refused(reason: Any) -> None:
    for signal in (lambda: RetryAfter(5, reason), lambda: Release(reason)):
        with pytest.raises(InvalidArgument, match=r"reason=.*give a string"):
            signal()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Surrogates are excluded by the strategy's default alphabet.
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_every_json_value_is_stored_unchanged(value: object) -> None:
    done = completion(Returned(value), max_result=10_000_000)
    assert isinstance(done, Finish)
    assert done.state is State.succeeded
    kept = None if done.result is None else json.loads(done.result)
    assert kept == value
