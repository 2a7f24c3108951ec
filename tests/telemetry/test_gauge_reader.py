"""Which worker reads the figures of the store, and how often."""

from collections.abc import Iterator

import pytest

from api.apps import Note
from duetime import Duetime
from duetime.model.actions.claim import SweepResult
from duetime.model.health.queues import QueueGauges
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.telemetry.meters import Meters
from duetime.worker import gauge_reader
from duetime.worker.gauge_reader import PAUSE_SECONDS, GaugeReader
from polling import until
from telemetry.exporters import Metrics


class Counting(MemoryStore):
    """Counts how often its queues are read."""

    reads = 0

    def queue_gauges(self, alive: int) -> Flow[QueueGauges]:
        self.reads += 1
        return super().queue_gauges(alive)


class Elapsed:
    """A monotonic clock that a test moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def elapsed(monkeypatch: pytest.MonkeyPatch) -> Elapsed:
    elapsed = Elapsed()
    monkeypatch.setattr(gauge_reader, "monotonic", elapsed)
    return elapsed


@pytest.fixture
def readers(meters: Metrics) -> Iterator[list[GaugeReader]]:
    store = Counting()
    made = [GaugeReader(store, Meters(), 5.0, lambda: 0) for _ in range(2)]
    yield made
    for reader in made:
        reader.close()


def sweep(*, oldest: bool) -> SweepResult:
    return SweepResult(now=0, lanes=[], expired=[], oldest=oldest)


async def swept(readers: list[GaugeReader], oldest: GaugeReader | None) -> int:
    """Let each reader hear of a sweep; return how often the store has been read since the start."""
    for reader in readers:
        reader.sweep_finished(sweep(oldest=reader is oldest))
        await reader._step()
    store = readers[0]._store
    assert isinstance(store, Counting)
    return store.reads


async def test_the_oldest_worker_alone_reads_once_in_ten_seconds(
    readers: list[GaugeReader], elapsed: Elapsed
) -> None:
    first, _ = readers
    assert await swept(readers, first) == 1
    elapsed.now += PAUSE_SECONDS - 1
    assert await swept(readers, first) == 1
    elapsed.now += 1
    assert await swept(readers, first) == 2


async def test_a_worker_that_becomes_the_oldest_waits_as_long_as_the_one_before(
    readers: list[GaugeReader], elapsed: Elapsed
) -> None:
    first, second = readers
    assert await swept(readers, first) == 1
    elapsed.now += 1
    assert await swept([second], second) == 1
    elapsed.now += PAUSE_SECONDS
    assert await swept([second], second) == 2


async def test_of_two_workers_one_shows_the_store(durable_url: str, meters: Metrics) -> None:
    async with short_sweeps(durable_url) as first, short_sweeps(durable_url) as second:
        for app in (first, second):
            app.handler(kind="note", queue="shared-gauges")(_note)
        await first.schedule(Note(), delay=3600)
        async with first.worker(), second.worker():
            await until(lambda: meters.count("duetime.workers") == 2)
            assert meters.count("duetime.backlog", queue="shared-gauges", state="scheduled") == 1


def short_sweeps(url: str) -> Duetime:
    return Duetime(url, sweep=0.2, poll=0.2, poll_unheard=0.2)


async def _note(payload: Note) -> None: ...
