"""Runs the job simulation for many seeds, in one or several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from job_simulation.cluster import run
from job_simulation.scenario import JobScenario, draw

Draw = Callable[[int], JobScenario]


@dataclass(slots=True)
class Verdict:
    """Results of many seeds added up."""

    done: int = 0
    days: float = 0.0
    ticks: int = 0
    tally: Counter[str] = field(default_factory=Counter)
    failures: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, other: Verdict) -> None:
        self.done += other.done
        self.days += other.days
        self.ticks += other.ticks
        self.tally += other.tally
        self.failures |= other.failures

    def report(self, max_failures: int = 10) -> str:
        """Describe the first failures, with the command that replays each."""
        lines = [f"{len(self.failures)} of {self.done} histories of jobs broke a guarantee:"]
        for seed, violations in list(self.failures.items())[:max_failures]:
            lines.append(f"  python tests/job_simulation/replay.py {seed}")
            lines += [f"      {violation}" for violation in violations[:3]]
        return "\n".join(lines)


def run_seed(seed: int, scenario: Draw = draw) -> Verdict:
    history = run(seed, scenario=scenario)
    failed = {seed: history.violations} if history.violations else {}
    return Verdict(1, history.days, history.ticks, history.tally, failed)


def run_seeds(seeds: Sequence[int], scenario: Draw = draw) -> Verdict:
    """Run the seeds one after the other in this process."""
    verdict = Verdict()
    for seed in seeds:
        verdict.add(run_seed(seed, scenario))
    return verdict


def campaign(seeds: Sequence[int], scenario: Draw = draw) -> Iterator[Verdict]:
    """Run the seeds on all cores; yield verdicts in the order of the seeds."""
    spawn = multiprocessing.get_context("spawn")
    workers = min(os.cpu_count() or 1, len(seeds))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        yield from pool.map(run_seed, seeds, [scenario] * len(seeds))
