"""The measures of `duetime bench`, and their sizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from duetime.bench.draining import drain, schedule_one_by_one
from duetime.bench.figures import Figure, RoundFigures, figures
from duetime.bench.scratch_store import StoreArguments, scratch_store
from duetime.bench.timing import burst, lateness, wake
from duetime.bench.work import Blocking, Transactional
from duetime.worker.event_loop import run_loop

Take = Callable[[StoreArguments, int], Awaitable[RoundFigures]]
Progress = Callable[[str], None]


def _spread_seconds(count: int) -> float:
    """Return the seconds over which this many actions are spread."""
    return min(5.0, count / 40)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure. Its size is a `share` of the requested size, at most `max_size`."""

    description: str
    take: Take
    share: float = 1.0
    max_size: int = 1_000_000

    def size(self, count: int) -> int:
        return max(1, min(self.max_size, round(count * self.share)))


MEASURES: Mapping[str, Measure] = {
    "drain": Measure("schedule in bulk, then run with one worker", drain),
    "sync": Measure(
        "schedule in bulk, then run handlers that are plain functions",
        lambda store, count: drain(store, count, payload=lambda _: Blocking()),
        share=0.25,
    ),
    "transactional": Measure(
        "schedule in bulk, then run transactional handlers",
        lambda store, count: drain(store, count, payload=Transactional),
        share=0.1,
    ),
    "single": Measure("schedule one by one, 32 clients at once", schedule_one_by_one, share=0.25),
    "lateness": Measure(
        "due at random instants: how late they start",
        lambda store, count: lateness(store, count, _spread_seconds(count)),
        share=0.05,
        max_size=1_000,
    ),
    "burst": Measure(
        "due at one instant, with as many slots: how late they start",
        burst,
        share=0.1,
        max_size=5_000,
    ),
    "wake": Measure(
        "delay=0 from another process: from the call to the start",
        lambda store, count: wake(store, count, _spread_seconds(count)),
        share=0.01,
        max_size=200,
    ),
}


def measure(
    url: str, names: Sequence[str], *, count: int, rounds: int, progress: Progress
) -> dict[str, list[Figure]]:
    """Take these measures in turn, round after round, each on a fresh store."""
    taken: dict[str, list[RoundFigures]] = {name: [] for name in names}
    for number in range(1, rounds + 1):
        for name in names:
            progress(f"round {number} of {rounds}: {name}")
            taken[name].append(_take(url, MEASURES[name], count))
    return {name: figures(rounds) for name, rounds in taken.items()}


def _take(url: str, measure: Measure, count: int) -> RoundFigures:
    async def work(store: StoreArguments) -> RoundFigures:
        return await measure.take(store, measure.size(count))

    with scratch_store(url) as store:
        return run_loop(work(store))
