"""The simulation notices what it must: each fault planted in the real code is caught."""

import pytest

from planting import planted
from simulation.cluster import run
from simulation.mutants import MUTANTS, SCENES
from simulation.scenario import draw

MOST = 200


@pytest.mark.parametrize("name", MUTANTS)
def test_a_worker_that(name: str) -> None:
    with planted(MUTANTS[name]):
        for seed in range(MOST):
            if violations := run(seed, scenario=SCENES.get(name, draw)).violations:
                print(f"caught in {seed + 1} seeds: {violations[0]}")
                return
    pytest.fail(f"survived {MOST} seeds")
