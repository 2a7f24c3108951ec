"""What `duetime bench` measures, and at which size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from duetime.bench.draining import drain, single
from duetime.bench.figures import Figure, Taken, figures
from duetime.bench.scratch_store import Place, fresh_place
from duetime.bench.timing import burst, lateness, wake
from duetime.bench.work import Blocking, Transactional
from duetime.worker.event_loop import run_loop

Take = Callable[[Place, int], Awaitable[Taken]]
Tell = Callable[[str], None]


def _seconds(count: int) -> float:
    """Within which so many are spread."""
    return min(5.0, count / 40)


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure; of the size asked for it takes a `share`, but not more than `most`."""

    words: str
    take: Take
    share: float = 1.0
    most: int = 1_000_000

    def size(self, count: int) -> int:
        return max(1, min(self.most, round(count * self.share)))


MEASURES: Mapping[str, Measure] = {
    "drain": Measure("schedule in bulk, then run with one worker", drain),
    "sync": Measure(
        "the same, for handlers that are plain functions",
        lambda place, count: drain(place, count, payload=lambda _: Blocking()),
        share=0.25,
    ),
    "transactional": Measure(
        "the same, for transactional handlers",
        lambda place, count: drain(place, count, payload=Transactional),
        share=0.1,
    ),
    "single": Measure("schedule one by one, 32 clients at once", single, share=0.25),
    "lateness": Measure(
        "due at random instants: how late they start",
        lambda place, count: lateness(place, count, _seconds(count)),
        share=0.05,
        most=1_000,
    ),
    "burst": Measure(
        "due at one instant, with as many slots: how late they start", burst, share=0.1, most=5_000
    ),
    "wake": Measure(
        "delay=0 from another process: from the call to the start",
        lambda place, count: wake(place, count, _seconds(count)),
        share=0.01,
        most=200,
    ),
}


def measure(
    url: str, names: Sequence[str], *, count: int, rounds: int, tell: Tell
) -> dict[str, list[Figure]]:
    """Take these measures in turn, round after round, on a fresh store each time."""
    taken: dict[str, list[Taken]] = {name: [] for name in names}
    for number in range(1, rounds + 1):
        for name in names:
            tell(f"round {number} of {rounds}: {name}")
            taken[name].append(_take(url, MEASURES[name], count))
    return {name: figures(rounds) for name, rounds in taken.items()}


def _take(url: str, one: Measure, count: int) -> Taken:
    async def work(place: Place) -> Taken:
        return await one.take(place, one.size(count))

    with fresh_place(url) as place:
        return run_loop(work(place))
