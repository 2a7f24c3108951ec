"""Runs random histories of a store in rounds, each step compared with the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from duetime.store.base import Store
from duetime.testing import FakeClock
from store.state_machine import StoreMachine

# From the tenth example on, Hypothesis varies old examples more than it makes new ones.
LIVES_PER_ROUND = 9
ROUNDS = range(6)
# The same examples every time: the soak test looks for new ones, not every test run.
SHORT_LIVES = settings(
    max_examples=LIVES_PER_ROUND,
    derandomize=True,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# For the soak test.
LONG_LIVES = settings(SHORT_LIVES, stateful_step_count=80)


def run_rounds(
    clock: FakeClock,
    empty_store: Callable[[], Store],
    rounds: Iterable[int] = ROUNDS,
    how: settings = SHORT_LIVES,
) -> None:
    for number in rounds:
        run_machine(clock, empty_store, how, seed(number))


def run_machine(
    clock: FakeClock,
    empty_store: Callable[[], Store],
    how: settings = SHORT_LIVES,
    chance: Callable[[type], type] = lambda machine: machine,
) -> None:
    """Run one round; `empty_store` returns an empty store with this clock for each example."""

    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(clock, empty_store())

    run_state_machine_as_test(chance(Machine), settings=how)
