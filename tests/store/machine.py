"""Lives of a store: random steps, each compared with the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from duetime.store.base import Store
from duetime.testing import FakeClock
from store.rules import StoreMachine

# From the tenth life of a round on, Hypothesis varies old lives more than it makes new ones.
ROUND = 9
ROUNDS = range(6)
# The same lives every time: what is new is found by the soak, not by somebody else's change.
NORMAL = settings(
    max_examples=ROUND,
    derandomize=True,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# For long runs.
LONGER = settings(NORMAL, stateful_step_count=80)


def play_rounds(
    clock: FakeClock,
    empty_store: Callable[[], Store],
    rounds: Iterable[int] = ROUNDS,
    how: settings = NORMAL,
) -> None:
    for number in rounds:
        play(clock, empty_store, how, seed(number))


def play(
    clock: FakeClock,
    empty_store: Callable[[], Store],
    how: settings = NORMAL,
    chance: Callable[[type], type] = lambda machine: machine,
) -> None:
    """`empty_store` gives a store that follows the clock, empty at the start of each life."""

    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(clock, empty_store())

    run_state_machine_as_test(chance(Machine), settings=how)
