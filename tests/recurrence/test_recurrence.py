"""Every tick of every job is accounted for, and none twice, whatever goes wrong."""

import os
import subprocess
import sys
from pathlib import Path

from recurrence.account import How
from recurrence.campaign import judge
from recurrence.history import run
from recurrence.month import draw, draw_healthy, draw_short, draw_small

TESTS = Path(__file__).resolve().parents[1]
# What must have happened for the histories to mean anything.
EVENTS = [
    *(how.value for how in How),
    "boots",
    "kills",
    "orderly stops",
    "pauses",
    "blocked loops",
    "outages",
    "cuts",
    "requests lost",
    "replies lost",
    "replies too late",
    "wakes lost",
    "days of downtime",
    "jobs redefined",
    "jobs retired",
    "occurrences succeeded",
    "occurrences failed",
    "occurrences cancelled",
    "acts: pause",
    "acts: resume",
    "acts: trigger",
    "acts: remove",
    "acts: restore",
    "acts: put",
    "acts: backfill",
    "acts refused",
]
PRINT = """
from recurrence.history import run
from recurrence.month import draw_short
print([run(seed, month=draw_short).hash for seed in range(2)])
"""


def test_a_month_of_two_hundred_jobs() -> None:
    verdict = judge(range(1), draw)
    assert not verdict.failures, verdict.told()
    assert verdict.ticks > 5_000


def test_some_days_in_which_much_goes_wrong() -> None:
    verdict = judge(range(5), draw_small)
    assert not verdict.failures, verdict.told()
    assert [what for what in EVENTS if not verdict.tally[what]] == []


def test_without_faults_no_tick_is_late() -> None:
    verdict = judge(range(1), draw_healthy)
    assert not verdict.failures, verdict.told()
    assert verdict.tally["runs"] > 500
    assert verdict.tally["misfired"] == 0
    assert verdict.tally["overlaps by a loss"] == 0


def test_a_seed_is_the_same_history_in_every_process() -> None:
    def hashes(hash_seed: str) -> str:
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
        command = [sys.executable, "-c", PRINT]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    here = [run(seed, month=draw_short).hash for seed in range(2)]
    assert here[0] != here[1]
    assert hashes("1") == hashes("2") == repr(here)
