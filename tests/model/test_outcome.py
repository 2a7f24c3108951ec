"""Every result of a handler becomes a completion that every store can keep."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Cancel, Fail, Outcome, Retry, Snooze, State
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
    result: HandlerResult, retry: Retry | None = None, max_result: int = 1000
) -> Completion:
    return decide(
        CLAIM,
        result,
        retry=retry or Retry.none(),
        chance=0.0,
        started_at=7,
        max_result=max_result,
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


def test_a_timeout_is_a_failed_attempt() -> None:
    done = completion(TimedOut(1.5), Retry(delays=[3]))
    assert isinstance(done, Reschedule)
    assert (done.outcome, done.delay, done.refund) == (Outcome.retried, 3_000_000, False)
    assert "1.5 s" in str(done.error)


@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), "soon", None, True])
def test_a_snooze_without_a_valid_duration_is_refused(delay: float) -> None:
    with pytest.raises(InvalidArgument, match="delay"):
        Snooze(delay)


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
