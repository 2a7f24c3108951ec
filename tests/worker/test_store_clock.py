"""How a worker extrapolates the store's clock from replies."""

from __future__ import annotations

import pytest

from duetime.model.clock import SECOND, SystemClock
from duetime.worker.leases.store_clock import StoreClock

NOON = 12 * 3600 * SECOND


class ClockReader:
    """Reads the store's clock. Both clocks, here in seconds since noon, run at the same rate."""

    def __init__(self) -> None:
        self._gone = 0.0
        self._set = 0.0
        self._clock = StoreClock(SystemClock(), lambda: self._gone)
        self.reads(0.0)

    def reads(self, at: float, *, there: float = 0.0, back: float = 0.0) -> None:
        """Handle a reply: the request took `there` seconds and the reply `back` seconds."""
        self._gone = at
        now = NOON + round((at - back + self._set) * SECOND)
        self._clock.observe(now, at - there - back)

    def store_is_set(self, by: float) -> None:
        self._set += by

    def behind(self, at: float) -> float:
        """By how many seconds it is behind the store's clock."""
        self._gone = at
        return round(at + self._set - (self._clock.now() - NOON) / SECOND, 5)

    def ahead_at_most(self, at: float) -> float:
        """By how many seconds its latest possible time is ahead of the store's clock."""
        self._gone = at
        return round((self._clock.latest() - NOON) / SECOND - at - self._set, 5)


def test_it_counts_on_from_a_reply() -> None:
    reader = ClockReader()
    assert reader.behind(2.5) == 0
    reader.reads(3, back=0.2)
    assert reader.behind(3) == reader.behind(5) == 0.2


def test_a_slow_reply_after_a_prompt_one_does_not_put_it_back() -> None:
    reader = ClockReader()
    reader.reads(0.9, back=0.5)
    assert reader.behind(0.9) == 0


def test_a_prompt_reply_after_a_slow_one_puts_it_forward() -> None:
    reader = ClockReader()
    reader.reads(2, back=0.5)
    reader.reads(2.1, back=0.001)
    assert reader.behind(2.2) == 0.001


@pytest.mark.parametrize(("prompt", "behind"), [([], 0.04), ([0.9], 0), ([0.3, 0.6], 0.04)])
def test_no_reply_is_trusted_for_longer_than_a_second(prompt: list[float], behind: float) -> None:
    """The store's clock may be slower than ours, and early is worse than late."""
    reader = ClockReader()
    for at in prompt:
        reader.reads(at)
    reader.reads(1.7, back=0.04)
    assert reader.behind(1.7) == behind


@pytest.mark.parametrize("step", [0.003, 60, 7200])
def test_a_clock_that_was_set_back_is_followed_as_soon_as_a_reply_shows_it(step: float) -> None:
    reader = ClockReader()
    reader.store_is_set(-step)
    reader.reads(0.5, there=0.001, back=0.001)
    assert reader.behind(0.6) == 0.001


def test_a_slow_request_shows_nothing() -> None:
    """The request may have arrived at once and the reply be as late as our count."""
    reader = ClockReader()
    reader.store_is_set(-0.003)
    reader.reads(0.5, there=0.004)
    assert reader.behind(0.5) == -0.003
    reader.reads(0.6, there=0.001)
    assert reader.behind(0.6) == 0


def test_a_clock_that_was_set_forward_is_followed_at_once() -> None:
    reader = ClockReader()
    reader.store_is_set(3600)
    reader.reads(0.5, back=0.002)
    assert reader.behind(0.5) == 0.002


@pytest.mark.parametrize(("there", "back"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.2, 0.5)])
def test_the_latest_time_is_never_behind_the_store(there: float, back: float) -> None:
    """An action that may have expired must not start: the store may have answered at once, and the
    reply have taken all of the time."""
    reader = ClockReader()
    reader.reads(2, there=there, back=back)
    assert reader.ahead_at_most(2) == reader.ahead_at_most(2.7) == there
