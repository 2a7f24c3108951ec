"""Many histories of jobs, one after another or over several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from recurrence.history import run
from recurrence.month import Month, draw

Draw = Callable[[int], Month]


@dataclass(slots=True)
class Verdict:
    """What came of many seeds."""

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

    def told(self, most: int = 10) -> str:
        """The first failures, and how to see them happen again."""
        lines = [f"{len(self.failures)} of {self.done} histories of jobs broke a guarantee:"]
        for seed, violations in list(self.failures.items())[:most]:
            lines.append(f"  python tests/recurrence/replay.py {seed}")
            lines += [f"      {violation}" for violation in violations[:3]]
        return "\n".join(lines)


def live(seed: int, month: Draw = draw) -> Verdict:
    history = run(seed, month=month)
    failed = {seed: history.violations} if history.violations else {}
    return Verdict(1, history.days, history.ticks, history.tally, failed)


def judge(seeds: Sequence[int], month: Draw = draw) -> Verdict:
    """One history after another, in this process."""
    verdict = Verdict()
    for seed in seeds:
        verdict.add(live(seed, month))
    return verdict


def campaign(seeds: Sequence[int], month: Draw = draw) -> Iterator[Verdict]:
    """On all cores, in the order of the seeds."""
    spawn = multiprocessing.get_context("spawn")
    workers = min(os.cpu_count() or 1, len(seeds))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        yield from pool.map(live, seeds, [month] * len(seeds))
