"""Many histories over several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from simulation.cluster import run
from simulation.scenario import Scenario, draw

CHUNK = 20

Draw = Callable[[int], Scenario]


@dataclass(slots=True)
class Verdict:
    """What came of many seeds."""

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

    def told(self, most: int = 10) -> str:
        """The first failures, and how to see them happen again."""
        lines = [f"{len(self.failures)} of {self.done} histories broke a guarantee:"]
        for seed, violations in list(self.failures.items())[:most]:
            lines.append(f"  python tests/simulation/replay.py {seed}")
            lines += [f"      {violation}" for violation in violations[:3]]
        return "\n".join(lines)


def live(seeds: Sequence[int], scenario: Draw = draw) -> Verdict:
    """One history after another, in this process."""
    verdict = Verdict()
    for seed in seeds:
        history = run(seed, scenario=scenario)
        failed = {seed: history.violations} if history.violations else {}
        verdict.add(Verdict(1, history.seconds, history.latest, history.tally, failed))
    return verdict


def campaign(
    seeds: range, scenario: Draw = draw, processes: int | None = None
) -> Iterator[Verdict]:
    """Verdicts chunk by chunk, in the order of their seeds."""
    chunks = [seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK)]
    spawn = multiprocessing.get_context("spawn")
    workers = min(processes or os.cpu_count() or 1, len(chunks))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        yield from pool.map(live, chunks, [scenario] * len(chunks))


def judge(seeds: range, scenario: Draw = draw) -> Verdict:
    verdict = Verdict()
    for part in campaign(seeds, scenario):
        verdict.add(part)
    return verdict
