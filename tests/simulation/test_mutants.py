"""The simulation is sensitive: it catches each fault patched into the real code."""

import pytest

from patching import planted
from simulation.cluster import run
from simulation.mutants import BELIEVES_THE_LATEST_WAKE, FORGETS_THE_END, MUTANTS, SCENARIOS
from simulation.scenario import draw, draw_forged, draw_paused

SEEDS = 200
# The seed that caught a fault before is tried first. All others follow, should the code change.
CAUGHT_BY = {
    "completes any running action": 5,
    "completes by the worker's name": 5,
    "completes without any guard": 5,
    "rescues without checking the lease again": 24,
    "starts actions whose lease it lost": 24,
    "lets suspects wait until it idles": 9,
    "drops a completion during an outage": 5,
    "reports refused completions": 24,
    "lets the cursor run ahead": 51,
    "takes suspects together": 8,
    "forgets a claim when an older claim of its action ends": 20,
    "rescues right after it was cut off": 8,
    "renews only running handlers": 5,
    "never fails actions that kill their workers": 8,
    "stops without releasing unstarted claims": 3,
    "relies on wakes alone": 4,
    "starts a pre-claim of a paused queue": 3,
    "lifts a later pause when an earlier one ends": 6,
    "keeps the end of an earlier pause": 8,
    "settles only children of its own completions": 31,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    with planted(MUTANTS[name]):
        for seed in [CAUGHT_BY.get(name, 0), *range(SEEDS)]:
            if violations := run(seed, scenario=SCENARIOS.get(name, draw)).violations:
                print(f"caught by seed {seed}: {violations[0]}")
                return
    pytest.fail(f"survived {SEEDS} seeds")


def test_a_worker_that_believes_the_latest_wake_starts_late() -> None:
    with planted(BELIEVES_THE_LATEST_WAKE):
        seeds = [103, *range(SEEDS)]
        assert any(run(seed, scenario=draw_forged).latest > 0.1 for seed in seeds)


@pytest.mark.parametrize("forgetful", FORGETS_THE_END)
def test_who_forgets_the_end_of_a_pause_starts_late(forgetful: str) -> None:
    with planted(FORGETS_THE_END[forgetful]):
        assert any(run(seed, scenario=draw_paused).latest > 0.1 for seed in range(SEEDS))


def test_every_hint_is_about_a_fault() -> None:
    assert set(CAUGHT_BY) <= set(MUTANTS)
