"""A seed yields the same history in every process."""

import os
import subprocess
import sys
from pathlib import Path

from simulation.cluster import run

TESTS = Path(__file__).resolve().parents[1]
SEEDS = range(8)
PRINT_HASHES = "from simulation.cluster import run; print([run(seed).hash for seed in range(8)])"


def test_a_seed_replays_event_by_event() -> None:
    assert [run(seed).hash for seed in SEEDS] == [run(seed).hash for seed in SEEDS]


def test_different_seeds_yield_different_histories() -> None:
    assert len({run(seed).hash for seed in SEEDS}) == len(SEEDS)


def test_a_history_does_not_depend_on_hash_randomisation() -> None:
    def hashes(hash_seed: str) -> str:
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
        command = [sys.executable, "-c", PRINT_HASHES]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return done.stdout

    assert hashes("1") == hashes("2")
