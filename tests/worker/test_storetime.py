"""How a worker counts on from what replies tell of the store's clock."""

from __future__ import annotations

import pytest

from duetime.model.clock import SECOND, SystemClock
from duetime.worker.storetime import StoreTime

HOUR = 3600 * SECOND


class Machine:
    """A worker's monotonic clock, which counts since its machine was started."""

    def __init__(self) -> None:
        self.up = 100.0

    def passes(self, seconds: float) -> None:
        self.up += seconds


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def time(machine: Machine) -> StoreTime:
    """It was noon at the store, when a prompt reply arrived."""
    time = StoreTime(SystemClock(), lambda: machine.up)
    time.heard(12 * HOUR)
    return time


def test_it_counts_on_from_a_reply(machine: Machine, time: StoreTime) -> None:
    machine.passes(2.5)
    assert time.now() == 12 * HOUR + 2.5 * SECOND
    assert time.until(12 * HOUR + 3 * SECOND) == 0.5


def test_a_slow_reply_after_a_prompt_one_does_not_put_it_back(
    machine: Machine, time: StoreTime
) -> None:
    machine.passes(0.5)
    time.heard(12 * HOUR + SECOND // 2 - 40_000)
    assert time.now() == 12 * HOUR + SECOND // 2


def test_a_prompter_reply_puts_it_forward(machine: Machine, time: StoreTime) -> None:
    machine.passes(0.5)
    time.heard(12 * HOUR + SECOND // 2 + 40_000)
    assert time.now() == 12 * HOUR + SECOND // 2 + 40_000


def test_no_reply_is_believed_for_long(machine: Machine, time: StoreTime) -> None:
    """The store's clock may go slower than ours, and early is worse than late."""
    machine.passes(1.5)
    time.heard(12 * HOUR + SECOND)
    assert time.now() == 12 * HOUR + SECOND


@pytest.mark.parametrize("step", [SECOND // 10, 2 * HOUR])
def test_a_clock_that_was_set_back_is_believed_at_once(
    machine: Machine, time: StoreTime, step: int
) -> None:
    machine.passes(0.5)
    time.heard(12 * HOUR + SECOND // 2 - step)
    assert time.now() == 12 * HOUR + SECOND // 2 - step


def test_one_that_was_set_forward_too(machine: Machine, time: StoreTime) -> None:
    machine.passes(0.5)
    time.heard(13 * HOUR)
    assert time.now() == 13 * HOUR
