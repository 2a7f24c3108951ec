"""Retry: pauses that are exact, that saturate, and whose jitter keeps its bounds."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.apps import case_id
from duetime import Retry
from duetime.errors import InvalidArgument

CHANCE = st.floats(0, 1, exclude_max=True)
SECONDS = st.floats(0, 366 * 86_400, allow_nan=False)
RETRIES = st.builds(
    Retry,
    attempts=st.integers(1, 30_000),
    delay=SECONDS,
    factor=st.floats(1, 1e300, allow_nan=False),
    max_delay=SECONDS,
    jitter=st.booleans(),
)


@given(retry=RETRIES, tries=st.integers(1, 30_000), chance=CHANCE)
def test_a_pause_is_always_finite_and_within_its_bounds(
    retry: Retry, tries: int, chance: float
) -> None:
    pause = retry.pause(tries, chance)
    if tries >= retry.attempts:
        assert pause is None
        return
    assert pause is not None
    assert math.isfinite(pause)
    assert 0 <= pause <= retry.max_delay


@given(retry=RETRIES, tries=st.integers(1, 29_999))
def test_later_tries_never_wait_less(retry: Retry, tries: int) -> None:
    first, second = retry.pause(tries, 0.0), retry.pause(tries + 1, 0.0)
    assert second is None or (first is not None and first <= second)


@given(retry=RETRIES, tries=st.integers(1, 100), chance=CHANCE)
def test_jitter_only_adds_and_at_most_half(retry: Retry, tries: int, chance: float) -> None:
    plain, spread = retry.pause(tries, 0.0), retry.pause(tries, chance)
    if plain is None or spread is None:
        assert plain is spread
        return
    assert plain <= spread <= plain * 1.5
    if not retry.jitter:
        assert plain == spread


@given(delays=st.lists(SECONDS, max_size=20), chance=CHANCE)
def test_explicit_delays_are_kept_to_the_letter(delays: list[float], chance: float) -> None:
    retry = Retry(delays=delays)
    assert retry.attempts == len(delays) + 1
    assert [retry.pause(n + 1, chance) for n in range(len(delays))] == delays
    assert retry.pause(len(delays) + 1, chance) is None


def test_backoff_doubles_until_its_limit() -> None:
    retry = Retry(attempts=12, delay=1, jitter=False)
    pauses = [retry.pause(n, 0.0) for n in range(1, 12)]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_no_delay_stays_no_delay_however_often_it_is_tried() -> None:
    retry = Retry(attempts=30_000, delay=0)
    assert [retry.pause(n, 0.5) for n in (1, 2, 1_000, 5_000, 29_999)] == [0] * 5


def test_the_default_is_three_attempts_and_none_is_one() -> None:
    assert Retry().attempts == 3
    assert Retry.none().pause(1, 0.0) is None


def test_durations_may_be_timedeltas() -> None:
    assert Retry(delays=[timedelta(minutes=1), 5]).delays == (60.0, 5.0)
    assert Retry(delay=timedelta(seconds=3), max_delay=timedelta(hours=1)).max_delay == 3600


BAD = [
    {"attempts": 0},
    {"attempts": -1},
    {"attempts": 1.5},
    {"attempts": True},
    {"attempts": 30_001},
    {"delay": -1},
    {"delay": math.nan},
    {"delay": math.inf},
    {"delay": "1"},
    {"factor": 0.5},
    {"factor": math.nan},
    {"factor": math.inf},
    {"factor": "2"},
    {"max_delay": -1},
    {"delays": [1, -1]},
    {"delays": [math.nan]},
    {"delays": [1], "attempts": 2},
    {"on": ()},
    {"on": "ConnectionError"},
    {"on": ConnectionError("an instance")},
    {"on": (ConnectionError, "ValueError")},
    {"on": [ConnectionError]},
    {"on": (int,)},
    {"on": 3},
    {"never": None},
    {"never": (ValueError, (KeyError,))},
    {"never": bool},
]


@pytest.mark.parametrize("bad", BAD, ids=case_id)
def test_a_policy_that_makes_no_sense_is_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=list(bad)[-1]):
        Retry(**bad)  # type: ignore[arg-type]


class Flaky(ConnectionError):
    """An exception of a user's."""


@pytest.mark.parametrize("schedule", [{}, {"delays": [1, 2]}, {"attempts": 1}], ids=repr)
def test_exceptions_decide_beside_any_schedule(schedule: dict[str, Any]) -> None:
    retry = Retry(on=(ConnectionError, KeyError), never=ConnectionResetError, **schedule)
    assert retry.covers(ConnectionError())
    assert retry.covers(Flaky())
    assert retry.covers(KeyError())
    assert not retry.covers(ValueError())
    assert not retry.covers(ConnectionResetError())
    assert retry.attempts == Retry(**schedule).attempts


def test_never_wins_over_on() -> None:
    retry = Retry(on=ConnectionError, never=(OSError,))
    assert not retry.covers(Flaky())


def test_every_exception_is_covered_unless_said_otherwise() -> None:
    for retry in (Retry(), Retry.none(), Retry(never=())):
        assert retry.covers(ValueError())
        assert retry.covers(SystemExit())
    assert Retry(on=SystemExit).covers(SystemExit())
    assert not Retry(never=ValueError).covers(UnicodeError())


def test_policies_compare_by_what_they_say() -> None:
    retry = Retry(attempts=5, on=ConnectionError, never=(ValueError,))
    assert retry == Retry(attempts=5, on=(ConnectionError, ConnectionError), never=ValueError)
    assert len({retry, Retry(attempts=5, on=(ConnectionError,), never=(ValueError,))}) == 1
    assert len({retry, Retry(attempts=5), Retry(attempts=5, on=ConnectionError)}) == 3


def test_the_text_of_a_policy_names_its_exceptions() -> None:
    """Jobs store this text: it must stay as it is where nothing else is said."""
    plain = "Retry(attempts=3, delay=1.0, factor=2.0, max_delay=300.0, jitter=True, delays=None)"
    assert repr(Retry()) == plain
    assert repr(Retry(on=(ConnectionError, Flaky), never=KeyError)) == (
        plain.removesuffix(")")
        + f", on=(ConnectionError, {Flaky.__module__}.Flaky), never=(KeyError,))"
    )
