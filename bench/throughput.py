"""Trials of throughput."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import bare
import peer
from delay import delayed
from trial import Goal, Spot, Take, Trial

from duetime.bench.draining import (
    MakePayload,
    drain,
    run_all,
    schedule_in_bulk,
    schedule_one_by_one,
)
from duetime.bench.figures import RoundFigures
from duetime.bench.processes import worker_processes
from duetime.bench.scratch_store import StoreArguments
from duetime.bench.wait import until_working
from duetime.bench.work import Blocking, Large, Noop, Transactional, make_app
from duetime.model.state import State

GRAPHILE, PGQUEUER = "Graphile Worker", "PgQueuer"
DRAIN, SCHEDULE, SINGLE = "drain /s", "schedule /s", "schedule one by one /s"
SLOW = 3.0


def draining(
    full: int,
    *,
    payload: MakePayload = Noop,
    workers: int = 1,
    store: Callable[[Spot], StoreArguments] = lambda spot: spot.server_place,
) -> Take:
    async def take(spot: Spot) -> RoundFigures:
        count = spot.count(full)
        return await drain(store(spot), count, payload=payload, workers=workers)

    return take


async def two_processes(spot: Spot) -> RoundFigures:
    """Measure the drain alone: scheduling is the same as with one process."""
    taken = await drain(spot.server_place, spot.count(100_000), workers=2)
    return {DRAIN: taken[DRAIN]}


async def far_away(spot: Spot) -> RoundFigures:
    """Drain by a worker that is one millisecond away from the server, each way."""
    count = spot.count(50_000)
    async with make_app(**spot.server_place) as app:
        await schedule_in_bulk(app, (Noop(n) for n in range(count)))
        with delayed(spot.url, 1.0) as url:
            took = await run_all(app, {"url": url})
    return {DRAIN: count / took}


async def schedule_singly(spot: Spot) -> RoundFigures:
    return await schedule_one_by_one(spot.server_place, spot.count(20_000))


async def insert_singly(spot: Spot) -> RoundFigures:
    return await bare.inserts(spot, 20_000)


async def update_in_a_loop(spot: Spot) -> RoundFigures:
    return await bare.updates(spot, 10_000)


async def update_in_ten_loops(spot: Spot) -> RoundFigures:
    return await bare.updates(spot, 10_000, bare.CONNECTIONS)


async def loop_on_a_file(spot: Spot) -> RoundFigures:
    return await bare.file_loop(spot, 50_000)


async def beside_a_slow_one(spot: Spot) -> RoundFigures:
    """Measure the time of quick plain functions behind one that sleeps."""
    app = make_app(**spot.server_place)
    async with app:
        with worker_processes(spot.server_place) as workers:
            await until_working(app, workers)
            slow = await app.schedule(Blocking(SLOW))
            while (await app.get(slow.id)).state is not State.running:
                pass
            began = time.perf_counter()
            soon = (Blocking() for _ in range(spot.count(1_000)))
            others = await app.schedule_many(app.request(payload) for payload in soon)
            await app.wait(others[-1].id, timeout=timedelta(minutes=1))
            took = time.perf_counter() - began
    return {"others s": took}


DRAINS = Trial(
    "drain",
    "drain 100,000 due actions, scheduled in bulk",
    {
        "duetime": draining(100_000),
        "duetime, two processes": two_processes,
        **peer.draining(100_000),
    },
    [
        Goal("2 x Graphile (never under 1.5)", ("duetime", DRAIN), 2.0, (GRAPHILE, DRAIN)),
        Goal("3.5 x PgQueuer (never under 2.5)", ("duetime", DRAIN), 3.5, (PGQUEUER, DRAIN)),
        Goal(
            "two processes 2.5 x Graphile",
            ("duetime, two processes", DRAIN),
            2.5,
            (GRAPHILE, DRAIN),
        ),
        Goal(
            "bulk schedule 1.5 x Graphile addJobs (aim: 2)",
            ("duetime", SCHEDULE),
            1.5,
            (GRAPHILE, SCHEDULE),
        ),
    ],
)
SINGLES = Trial(
    "single",
    "schedule one by one, 32 clients at once",
    {"duetime": schedule_singly, "bare INSERT": insert_singly},
    [Goal("0.7 x a bare INSERT", ("duetime", SINGLE), 0.7, ("bare INSERT", SINGLE))],
)
SYNC = Trial(
    "sync",
    "handlers that are plain functions",
    {
        "async": draining(20_000),
        "sync": draining(20_000, payload=lambda _: Blocking()),
        "beside a slow one": beside_a_slow_one,
    },
    [
        Goal("0.25 x async", ("sync", DRAIN), 0.25, ("async", DRAIN)),
        Goal(
            f"1,000 done while one sleeps {SLOW:.0f} s",
            ("beside a slow one", "others s"),
            SLOW * 0.9,
            most=True,
        ),
    ],
)
TRANSACTIONAL = Trial(
    "transactional",
    "transactional no-op handlers",
    {
        "duetime": draining(10_000, payload=Transactional),
        "hand-written loop": update_in_a_loop,
        "ten such loops": update_in_ten_loops,
    },
    [
        Goal(
            "0.5 x a hand-written loop of BEGIN, UPDATE, COMMIT",
            ("duetime", DRAIN),
            0.5,
            ("hand-written loop", DRAIN),
        )
    ],
)
SQLITE = Trial(
    "sqlite",
    "drain 50,000 due actions of a SQLite file",
    {
        "duetime": draining(50_000, store=lambda spot: spot.file_place),
        "bare sqlite3": loop_on_a_file,
    },
    [Goal("0.5 x a bare sqlite3 loop", ("duetime", DRAIN), 0.5, ("bare sqlite3", DRAIN))],
    needs_server=False,
)
WORKERS = Trial(
    "workers",
    "drain 100,000 due actions with 1, 2, 4 workers",
    {
        "1 worker": draining(100_000),
        "2 workers": draining(100_000, workers=2),
        "4 workers": draining(100_000, workers=4),
    },
    [
        Goal("two at least 1.2 x one", ("2 workers", DRAIN), 1.2, ("1 worker", DRAIN)),
        Goal("four no less than two", ("4 workers", DRAIN), 1.0, ("2 workers", DRAIN)),
    ],
)
PAYLOADS = Trial(
    "payload",
    "payloads of 10 kB; a millisecond of network, each way",
    {
        "plain": draining(50_000),
        "10 kB": draining(50_000, payload=lambda _: Large("x" * 10_000)),
        "network": far_away,
    },
    [
        Goal("10 kB 0.3 x plain", ("10 kB", DRAIN), 0.3, ("plain", DRAIN)),
        Goal("network 0.8 x plain", ("network", DRAIN), 0.8, ("plain", DRAIN)),
    ],
)
TRIALS = [DRAINS, SINGLES, SYNC, TRANSACTIONAL, SQLITE, WORKERS, PAYLOADS]
