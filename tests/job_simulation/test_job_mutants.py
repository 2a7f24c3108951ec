"""The job simulation is sensitive: it catches each fault patched into the real code."""

import pytest

from job_simulation.cluster import run
from job_simulation.mutants import MUTANTS
from job_simulation.scenario import draw_small
from patching import planted

SEEDS = 8
# The seed that caught a fault before is tried first. All others follow, should the code change.
CAUGHT_BY = {
    "forgets a tick when its action ends": 4,
    "ends a pause when it starts": 1,
    "retires jobs that live workers declare": 3,
    "backfills due ticks": 3,
    "queues behind the newest id": 2,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    with planted(MUTANTS[name]):
        for seed in [CAUGHT_BY.get(name, 0), *range(SEEDS)]:
            if violations := run(seed, scenario=draw_small).violations:
                print(f"caught by seed {seed}: {violations[0]}")
                return
    pytest.fail(f"survived {SEEDS} seeds")


def test_every_hint_is_about_a_fault() -> None:
    assert set(CAUGHT_BY) <= set(MUTANTS)
