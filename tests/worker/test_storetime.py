"""How a worker counts on from what replies tell of the store's clock."""

from __future__ import annotations

import pytest

from duetime.model.clock import SECOND, SystemClock
from duetime.worker.leases.store_clock import StoreTime

NOON = 12 * 3600 * SECOND


class Worker:
    """It asks a store what time it is. Both clocks, here in seconds since noon, go alike."""

    def __init__(self) -> None:
        self._gone = 0.0
        self._set = 0.0
        self._time = StoreTime(SystemClock(), lambda: self._gone)
        self.hears(0.0)

    def hears(self, at: float, *, there: float = 0.0, back: float = 0.0) -> None:
        """The question was on its way for so long, and the reply for so long."""
        self._gone = at
        told = NOON + round((at - back + self._set) * SECOND)
        self._time.heard(told, at - there - back)

    def store_is_set(self, by: float) -> None:
        self._set += by

    def behind(self, at: float) -> float:
        """By how many seconds it is behind the store's clock."""
        self._gone = at
        return round(at + self._set - (self._time.now() - NOON) / SECOND, 5)


def test_it_counts_on_from_a_reply() -> None:
    worker = Worker()
    assert worker.behind(2.5) == 0
    worker.hears(3, back=0.2)
    assert worker.behind(3) == worker.behind(5) == 0.2


def test_a_slow_reply_after_a_prompt_one_does_not_put_it_back() -> None:
    worker = Worker()
    worker.hears(0.9, back=0.5)
    assert worker.behind(0.9) == 0


def test_a_prompt_reply_after_a_slow_one_puts_it_forward() -> None:
    worker = Worker()
    worker.hears(2, back=0.5)
    worker.hears(2.1, back=0.001)
    assert worker.behind(2.2) == 0.001


@pytest.mark.parametrize(("prompt", "behind"), [([], 0.04), ([0.9], 0), ([0.3, 0.6], 0.04)])
def test_no_reply_is_believed_for_longer_than_a_second(prompt: list[float], behind: float) -> None:
    """The store's clock may go slower than ours, and early is worse than late."""
    worker = Worker()
    for at in prompt:
        worker.hears(at)
    worker.hears(1.7, back=0.04)
    assert worker.behind(1.7) == behind


@pytest.mark.parametrize("step", [0.003, 60, 7200])
def test_a_clock_that_was_set_back_is_believed_as_soon_as_a_reply_shows_it(step: float) -> None:
    worker = Worker()
    worker.store_is_set(-step)
    worker.hears(0.5, there=0.001, back=0.001)
    assert worker.behind(0.6) == 0.001


def test_a_question_that_was_slow_to_be_asked_shows_nothing() -> None:
    """It may have been asked at once, and the reply be as late as we count."""
    worker = Worker()
    worker.store_is_set(-0.003)
    worker.hears(0.5, there=0.004)
    assert worker.behind(0.5) == -0.003
    worker.hears(0.6, there=0.001)
    assert worker.behind(0.6) == 0


def test_a_clock_that_was_set_forward_is_believed_at_once() -> None:
    worker = Worker()
    worker.store_is_set(3600)
    worker.hears(0.5, back=0.002)
    assert worker.behind(0.5) == 0.002
