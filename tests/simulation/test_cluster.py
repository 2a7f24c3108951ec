"""Thousands of histories of a cluster keep every guarantee, whatever goes wrong."""

import os

from simulation.campaign import judge
from simulation.scenario import draw_far_ahead, draw_healthy, draw_outages, draw_saturated

SEEDS = int(os.environ.get("DUETIME_TEST_SEEDS", "800"))

# What must have happened for the histories to mean anything.
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
    "cancelled",
    "rescheduled",
    "children due",
    "children cancelled",
    "children settled by another worker",
]


def test_every_guarantee_holds_whatever_goes_wrong() -> None:
    verdict = judge(range(SEEDS))
    assert not verdict.failures, verdict.told()
    assert [what for what in FAULTS if not verdict.tally[what]] == []


def test_without_faults_everything_starts_on_time_and_nothing_is_lost() -> None:
    verdict = judge(range(100), draw_healthy)
    assert not verdict.failures, verdict.told()
    assert verdict.tally["runs lost"] == 0
    assert verdict.latest < 0.1


def test_an_outage_of_the_store_alone_loses_no_run() -> None:
    verdict = judge(range(100), draw_outages)
    assert not verdict.failures, verdict.told()
    assert verdict.tally["outages"] > 0
    assert verdict.tally["runs lost"] == 0


def test_what_is_run_alone_gets_its_turn_among_much_else() -> None:
    verdict = judge(range(100), draw_saturated)
    assert not verdict.failures, verdict.told()
    assert verdict.tally["suspects started"] > 0


def test_a_slot_that_waits_for_its_time_is_of_use_until_then() -> None:
    verdict = judge(range(200), draw_far_ahead)
    assert not verdict.failures, verdict.told()
    assert verdict.tally["suspects started"] > 0
