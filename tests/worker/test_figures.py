"""Figures that a worker keeps: counted by minute, added beside its sweeps, each run once."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from api.apps import Note, Other
from duetime import ANY, Cancel, Duetime, Fail, Retry, Series, Snooze
from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import Claim, ClaimOrder, LaneSpan, WorkerInfo
from duetime.model.clock import SECOND
from duetime.model.health.buckets import bucket_of
from duetime.model.health.figures import MINUTE, REST, FigureBatch, FigureFilter
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.model.state import Outcome
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from duetime.worker.figures import MAX_KEYS, FigureCounter
from polling import until

WORKER = WorkerInfo("w", "shop", "here", 1, [], [], 1)
BEGUN = 29_000_000 * MINUTE


def total(series: Series) -> dict[str | None, float]:
    return {line.value: sum(point.value or 0 for point in line.points) for line in series}


def fast(url: str, **settings: Any) -> Duetime:
    return Duetime(url, sweep=0.1, poll=0.1, poll_unheard=0.1, **settings)


# -- a real worker -------------------------------------------------------------------


async def test_every_outcome_is_counted_beside_the_next_sweep(url: str) -> None:
    async with fast(url) as app:

        @app.handler(kind="note", retry=Retry(delays=[0]))
        async def note(payload: Note) -> object:
            match payload.text:
                case "fails":
                    raise RuntimeError
                case "gives up":
                    return Fail("no")
                case "cancels":
                    return Cancel()
                case "snoozes":
                    return Snooze(3600)
            return None

        async def counted() -> bool:
            return total(await app.series("executed", by="outcome")) == {
                "succeeded": 2,
                "failed": 2,
                "retried": 1,
                "cancelled": 1,
                "snoozed": 1,
            }

        async with app.worker():
            for text in ("works", "works", "fails", "gives up", "cancels", "snoozes"):
                await app.schedule(Note(text))
            await until(counted)
        # Nothing was added twice when the worker stopped.
        assert await counted()


async def test_what_was_counted_last_is_added_when_the_worker_stops(url: str) -> None:
    async with Duetime(url) as app:

        @app.handler(kind="note", queue="mail")
        async def note(payload: Note) -> None: ...

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        async with app.worker():
            made = [await app.schedule(payload) for payload in (Note(), Note(), Other())]
            for action in made:
                await app.wait(action.id, timeout=20)
        assert total(await app.series("succeeded", by="kind")) == {"note": 2, "other": 1}
        assert total(await app.series("succeeded", by="queue")) == {"mail": 2, "default": 1}
        assert total(app.sync.series("succeeded")) == {None: 3}


@pytest.mark.parametrize("late", [0.3, 3.0, 40.0, 7200.0])
async def test_quantiles_agree_with_known_times_within_a_bucket(
    url: str, clock: FakeClock, late: float
) -> None:
    """Each action is late by as much, and takes as long: less than its lease."""
    async with fast(url, clock=clock, lease=86_400) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None:
            clock.advance(late)

        due = clock.now()
        action = await app.schedule(Note(), at=due)
        clock.advance(late)

        async def counted() -> bool:
            return total(await app.series("executed", since=due)) == {None: 1}

        async with app.worker():
            await app.wait(action.id, timeout=20)
            await until(counted)
        for metric in ("lateness_p50", "lateness_p99", "duration_p50", "duration_p99"):
            found = await app.series(metric, since=due, by="kind")
            [measured] = [p.value for p in found.points if p.value is not None]
            if late > 3600:
                assert measured == 3600
            else:
                assert bucket_of(round(measured * SECOND)) == bucket_of(round(late * SECOND))


async def test_two_workers_add_to_the_same_figures(durable_url: str) -> None:
    async with fast(durable_url) as first, fast(durable_url) as second:

        async def note(payload: Note) -> None: ...

        for app in (first, second):
            app.handler(kind="note")(note)
        async with first.worker(concurrency=2), second.worker(concurrency=2):
            made = [await first.schedule(Note()) for _ in range(40)]
            for action in made:
                await first.wait(action.id, timeout=30)
        assert total(await second.series("succeeded")) == {None: 40}


KILLED = """
import asyncio, sys
from dataclasses import dataclass
from duetime import Duetime

@dataclass
class Note:
    text: str = "hello"

app = Duetime(sys.argv[1], sweep=600, poll=600, poll_unheard=600)

@app.handler(kind="note")
async def note(payload: Note) -> None: ...

async def main():
    async with app.worker():
        for _ in range(5):
            await app.wait((await app.schedule(Note())).id, timeout=30)
        print("done", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_worker_killed_before_its_next_sweep_loses_only_what_it_counted(
    durable_url: str,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, durable_url, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 60) == b"done\n"
    process.send_signal(signal.SIGKILL)
    await process.wait()
    async with fast(durable_url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        assert (await app.stats()).succeeded == 5
        assert total(await app.series("succeeded")) == {None: 0}
        async with app.worker():
            await app.wait((await app.schedule(Note())).id, timeout=20)
        assert total(await app.series("succeeded")) == {None: 1}


async def test_a_lost_run_is_counted_by_the_worker_that_rescues_it(
    url: str, clock: FakeClock
) -> None:
    async with fast(url, clock=clock) as app:
        app.payload(Note, kind="note")
        action = await app.schedule(Note(), tenant="a")
        await claim_and_vanish(app, lane_of("default", 1, "a"))
        clock.advance(60)

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        async with app.worker():
            done = await app.wait(action.id, timeout=20, tenant="a")
        assert done.losses == 1
        found = await app.series("executed", by="outcome", tenant="a")
        assert total(found) == {"lost": 1, "succeeded": 1}
        assert total(await app.series("lost", by="kind", tenant="a")) == {"note": 1}


async def claim_and_vanish(app: Duetime, lane: str) -> None:
    store = app.store
    order = ClaimOrder("gone", [LaneSpan(lane, 0, 0)], 1, SECOND)
    [_] = (await store.perform(store.claim(order))).claims


async def test_old_figures_are_pruned(url: str, clock: FakeClock) -> None:
    async with Duetime(url, clock=clock, retention_figures=timedelta(hours=1)) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        async def run_and_stop() -> None:
            action = await app.schedule(Note())
            async with app.worker():
                await app.wait(action.id, timeout=20)

        began = clock.now()
        await run_and_stop()
        assert total(await app.series("executed", since=began)) == {None: 1}
        clock.advance(hours=2)

        async def pruned() -> bool:
            return total(await app.series("executed", since=began)) == {None: 0}

        async with app.worker():
            await until(pruned)


# -- the counter by itself -----------------------------------------------------------


class UnreliableStore(MemoryStore):
    """Loses replies, or refuses batches, for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.lose_replies = False
        self.refusal: Exception | None = None

    async def perform(self, flow: Flow[Any]) -> Any:
        if self.refusal is not None:
            raise self.refusal
        result = await super().perform(flow)
        if self.lose_replies:
            raise StoreUnavailable("the reply was lost")
        return result


@pytest.fixture
def store() -> UnreliableStore:
    store = UnreliableStore()
    store.perform_blocking(store.sweep(WORKER, 0, 1))
    return store


new_id = TimeOrderedIds()


def claim(kind: str = "note", queue: str = "default", tenant: str | None = None) -> Claim:
    lane = lane_of(queue, 1, tenant)
    return Claim(
        id=new_id(),
        token=new_id(),
        kind=kind,
        version=1,
        payload="{}",
        lane=lane,
        tenant=tenant,
        correlation_id=None,
        due_at=BEGUN,
        attempt=1,
        base_attempt=0,
        losses=0,
        by="ann",
        job=None,
        tick=None,
        triggered_by=None,
    )


def count(counter: FigureCounter, *claims: Claim) -> None:
    for each in claims:
        counter.count(each, Outcome.succeeded, BEGUN + 1, BEGUN + 2)


def counted(store: MemoryStore) -> Counter[str]:
    wanted = FigureFilter(
        since=BEGUN, until=BEGUN + MINUTE, step=MINUTE, by="kind", tenant=ANY, most=10_000
    )
    found = store.perform_blocking(store.figures(wanted))
    return Counter({each.value: each.runs for each in found.sums})


async def test_a_batch_whose_reply_was_lost_counts_once(store: UnreliableStore) -> None:
    counter = FigureCounter(WORKER.id, store)
    count(counter, claim(), claim())
    store.lose_replies = True
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await counter.flush()
    count(counter, claim())
    store.lose_replies = False
    await counter.flush()
    assert counted(store) == {"note": 3}
    await counter.flush()
    assert counted(store) == {"note": 3}


async def test_what_is_counted_while_the_store_is_away_is_added_later(
    store: UnreliableStore,
) -> None:
    counter = FigureCounter(WORKER.id, store)
    store.refusal = StoreUnavailable("away")
    for _ in range(3):
        count(counter, claim())
        with pytest.raises(StoreUnavailable):
            await counter.flush()
    store.refusal = None
    await counter.flush()
    assert counted(store) == {"note": 3}


async def test_a_batch_that_the_store_refuses_does_not_hold_up_others(
    store: UnreliableStore,
) -> None:
    counter = FigureCounter(WORKER.id, store)
    count(counter, claim("refused"))
    store.refusal = ValueError("the index has no room for it")
    with pytest.raises(ValueError, match="no room"):
        await counter.flush()
    store.refusal = None
    count(counter, claim("accepted"))
    await counter.flush()
    assert counted(store) == {"accepted": 1}


async def test_a_worker_that_the_store_forgot_adds_its_batch_after_the_next_sweep(
    store: UnreliableStore,
) -> None:
    counter = FigureCounter(WORKER.id, store)
    await store.perform(store.unregister(WORKER.id))
    count(counter, claim())
    await counter.flush()
    count(counter, claim())
    await store.perform(store.sweep(WORKER, 0, 1))
    await counter.flush()
    assert counted(store) == {"note": 2}


async def test_without_runs_nothing_is_sent(store: UnreliableStore) -> None:
    store.refusal = AssertionError("something was sent")
    await FigureCounter(WORKER.id, store).flush()


async def test_a_claim_that_is_given_back_is_no_run(store: UnreliableStore) -> None:
    counter = FigureCounter(WORKER.id, store)
    counter.count(claim(), Outcome.released, BEGUN + 1, BEGUN + 2)
    store.refusal = AssertionError("something was sent")
    await counter.flush()


async def test_lanes_of_a_queue_are_counted_together(store: UnreliableStore) -> None:
    counter = FigureCounter(WORKER.id, store)
    suspect = claim()._replace(lane=lane_of("default", 3, None, suspect=True))
    count(counter, claim(), suspect)
    [(key, runs)] = counter._next_batch().runs
    assert (key.queue, runs) == ("default", 2)


async def test_very_many_kinds_are_counted_together(store: UnreliableStore) -> None:
    """Those with most runs stay apart; the others are of no tenant and no kind."""
    counter = FigureCounter(WORKER.id, store)
    count(counter, *(claim(f"kind-{n}", tenant="a") for n in range(MAX_KEYS + 20)))
    count(counter, *(claim("frequent", tenant="a") for _ in range(9)))
    batch = counter._next_batch()
    assert isinstance(batch, FigureBatch)
    assert len(batch.runs) == MAX_KEYS + 1
    await store.perform(store.add_figures(batch))
    found = counted(store)
    assert (found["frequent"], found[REST]) == (9, 21)
    assert found.total() == MAX_KEYS + 20 + 9
