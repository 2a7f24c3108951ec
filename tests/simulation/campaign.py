"""Runs the simulation for many seeds, spread over several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from simulation.cluster import run
from simulation.scenario import Scenario, draw

SEEDS_PER_CHUNK = 20
# Test processes fill the cores already, and starting another takes as long as many seeds.
MAX_SEEDS_HERE = 150

Draw = Callable[[int], Scenario]


@dataclass(slots=True)
class Verdict:
    """Results of many seeds added up."""

    done: int = 0
    seconds: float = 0.0
    latest: float = 0.0
    tally: Counter[str] = field(default_factory=Counter)
    failures: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, other: Verdict) -> None:
        self.done += other.done
        self.seconds += other.seconds
        self.latest = max(self.latest, other.latest)
        self.tally += other.tally
        self.failures |= other.failures

    def report(self, max_failures: int = 10) -> str:
        """Describe the first failures, with the command that replays each."""
        lines = [f"{len(self.failures)} of {self.done} histories broke a guarantee:"]
        for seed, violations in list(self.failures.items())[:max_failures]:
            lines.append(f"  python tests/simulation/replay.py {seed}")
            lines += [f"      {violation}" for violation in violations[:3]]
        return "\n".join(lines)


def run_seeds(seeds: Sequence[int], scenario: Draw = draw) -> Verdict:
    """Run the seeds one after the other in this process."""
    verdict = Verdict()
    for seed in seeds:
        history = run(seed, scenario=scenario)
        failed = {seed: history.violations} if history.violations else {}
        verdict.add(Verdict(1, history.seconds, history.latest, history.tally, failed))
    return verdict


def campaign(
    seeds: range, scenario: Draw = draw, processes: int | None = None
) -> Iterator[Verdict]:
    """Yield a verdict per chunk of seeds, in the order of the seeds."""
    chunks = [
        seeds[first : first + SEEDS_PER_CHUNK] for first in range(0, len(seeds), SEEDS_PER_CHUNK)
    ]
    spawn = multiprocessing.get_context("spawn")
    workers = min(processes or os.cpu_count() or 1, len(chunks))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        yield from pool.map(run_seeds, chunks, [scenario] * len(chunks))


def run_campaign(seeds: range, scenario: Draw = draw) -> Verdict:
    """Run all seeds, on all cores if there are many, and return the sum of their verdicts."""
    if len(seeds) <= MAX_SEEDS_HERE:
        return run_seeds(seeds, scenario)
    verdict = Verdict()
    for part in campaign(seeds, scenario):
        verdict.add(part)
    return verdict
