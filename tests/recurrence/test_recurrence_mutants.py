"""The book notices what it must: each fault planted in the real code is caught."""

import pytest

from planting import planted
from recurrence.history import run
from recurrence.month import draw_small
from recurrence.mutants import MUTANTS

MOST = 8


@pytest.mark.parametrize("name", MUTANTS)
def test_a_worker_that(name: str) -> None:
    with planted(MUTANTS[name]):
        for seed in range(MOST):
            if violations := run(seed, month=draw_small).violations:
                print(f"caught in {seed + 1} seeds: {violations[0]}")
                return
    pytest.fail(f"survived {MOST} seeds")
