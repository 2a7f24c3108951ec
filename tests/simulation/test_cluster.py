"""Simulated clusters keep every guarantee, whatever faults occur."""

import os

import pytest

from simulation.campaign import run_campaign
from simulation.scenario import (
    draw_crashes,
    draw_far_ahead,
    draw_forged,
    draw_healthy,
    draw_outages,
    draw_paused,
    draw_saturated,
    draw_unheard,
)

SEEDS = int(os.environ.get("DUETIME_TEST_SEEDS", "800"))


def split_seeds(first: int, all_: int) -> pytest.MarkDecorator:
    """The first seeds in every test run, the rest in `make soak`."""
    rest = pytest.param(range(first, all_), marks=pytest.mark.soak, id="rest")
    return pytest.mark.parametrize("seeds", [pytest.param(range(first), id="first"), rest])


# Events that must occur for the histories to be meaningful.
FAULTS = [
    "kills",
    "crashes by poison",
    "pauses",
    "blocked loops",
    "outages",
    "cuts",
    "orderly stops",
    "requests lost",
    "replies lost",
    "replies too late",
    "wakes lost",
    "stale writes refused",
    "sent again",
    "runs lost",
    "runs retried",
    "runs snoozed",
    "runs released",
    "suspects started",
    "retried by hand",
    "asked to stop",
    "stopped: shutdown",
    "cancelled",
    "rescheduled",
    "children due",
    "children cancelled",
    "children settled by another worker",
    "server crashes",
    "wakes forged",
    "wakes refused",
    "expired",
    "queues paused",
    "queues resumed",
    "released from paused queues",
    "starts after a pause",
]


@split_seeds(150, SEEDS)
def test_guarantees_hold_under_random_faults(seeds: range) -> None:
    verdict = run_campaign(seeds)
    assert not verdict.failures, verdict.report()
    assert [what for what in FAULTS if not verdict.tally[what]] == []


@split_seeds(40, 100)
def test_without_faults_actions_start_on_time_and_no_run_is_lost(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_healthy)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["runs lost"] == 0
    assert verdict.latest < 0.1


@split_seeds(40, 400)
def test_forged_wakes_delay_nothing(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_forged)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["wakes forged"] > 0
    assert verdict.latest < 0.1


@split_seeds(40, 400)
def test_a_crash_of_the_server_undoes_no_claim_that_a_worker_acts_on(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_crashes)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["server crashes"] > 0
    assert verdict.tally["claims forgotten"] == 0


@split_seeds(40, 100)
def test_an_outage_of_the_store_alone_loses_no_run(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_outages)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["outages"] > 0
    assert verdict.tally["runs lost"] == 0


@split_seeds(25, 100)
def test_suspects_run_even_when_all_slots_are_busy(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_saturated)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["suspects started"] > 0


@split_seeds(60, 200)
def test_a_preclaimed_slot_is_used_until_its_action_is_due(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_far_ahead)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["suspects started"] > 0


@split_seeds(60, 400)
def test_pauses_are_kept_and_end_on_time(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_paused)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["released from paused queues"] > 0
    assert verdict.tally["starts after a pause"] > 0
    assert verdict.tally["runs lost"] == 0
    assert verdict.latest < 0.1


@split_seeds(60, 400)
def test_pauses_of_which_no_wake_tells_are_kept_from_the_next_look_on(seeds: range) -> None:
    verdict = run_campaign(seeds, draw_unheard)
    assert not verdict.failures, verdict.report()
    assert verdict.tally["starts after a pause"] > 0
