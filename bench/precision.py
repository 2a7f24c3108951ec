"""Trials of how late actions start."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import peer
from trial import Goal, Spot, Take, Trial

from duetime.app import Duetime
from duetime.bench.draining import run_all
from duetime.bench.figures import RoundFigures
from duetime.bench.processes import worker_processes
from duetime.bench.scratch_store import StoreArguments
from duetime.bench.timing import burst, lateness, wake
from duetime.bench.wait import until_working
from duetime.bench.work import Slow, Timed, make_app
from duetime.errors import WaitTimeout
from duetime.model.lane import lane_of

P50, P99, LEAST = "p50 ms", "p99 ms", "least ms"
PEER = "APScheduler"
WAIT_TIMEOUT_SECONDS = 60.0


async def spread(spot: Spot) -> RoundFigures:
    return await lateness(spot.server_place, spot.count(1_000), spot.seconds(10))


async def at_one_instant(spot: Spot) -> RoundFigures:
    return await burst(spot.server_place, spot.count(5_000))


def waking(store: Callable[[Spot], StoreArguments]) -> Take:
    async def take(spot: Spot) -> RoundFigures:
        return await wake(store(spot), spot.count(200), spot.seconds(10))

    return take


async def sharing(spot: Spot) -> RoundFigures:
    """Run 1,000 handlers that sleep on two workers of 100 slots: neither may hold claims that the
    other could run."""
    slots, sleep = spot.count(100), spot.seconds(1.0, least=0.1)
    app = make_app(**spot.server_place)
    async with app:
        now = app.clock.now()
        await app.schedule_many(app.request(Slow(sleep, now)) for _ in range(10 * slots))
        took = await run_all(app, {**spot.server_place, "concurrency": slots}, workers=2)
    return {"took s": took, "of the ideal x": took / (5 * sleep)}


async def neighbours(spot: Spot) -> RoundFigures:
    """Measure when one action of another tenant starts, while a tenant has 100,000 due actions
    whose handlers sleep for 100 ms."""
    app = make_app(**spot.server_place)
    big, same, other = "big", tenant_beside("big", True), tenant_beside("big", False)
    late: dict[str, float] = {}
    async with app:
        for _ in range(spot.count(100)):
            now = app.clock.now()
            requests = (app.request(Slow(0.1, now), tenant=big) for _ in range(1000))
            await app.schedule_many(requests)
        with worker_processes(spot.server_place) as workers:
            await until_working(app, workers)
            for label, tenant in (("other shard s", other), ("same shard s", same)):
                late[label] = await start_of_one(app, tenant)
    return late


async def start_of_one(app: Duetime, tenant: str) -> float:
    """Return the seconds until an action started, or the timeout."""
    began = app.clock.now()
    action = await app.schedule(Timed(began), tenant=tenant)
    try:
        finished = await app.wait(action.id, timeout=WAIT_TIMEOUT_SECONDS, tenant=tenant)
    except WaitTimeout:
        return WAIT_TIMEOUT_SECONDS
    return cast("float", finished.result)


def tenant_beside(name: str, same: bool) -> str:
    """Return a tenant of the same shard as `name`, or of another shard."""
    others = (f"small-{n}" for n in range(1000))
    lane = lane_of("q", 1, name)
    return next(other for other in others if (lane_of("q", 1, other) == lane) is same)


LATENESS = Trial(
    "lateness",
    "1,000 actions over 10 s: how late they start",
    {"duetime": spread, **peer.spreading(1_000, 10)},
    [
        Goal("p50 half of APScheduler's", ("duetime", P50), 0.5, (PEER, P50), most=True),
        Goal("p99 no worse than APScheduler's", ("duetime", P99), 1.0, (PEER, P99), most=True),
        Goal("never early", ("duetime", LEAST), 0.0),
    ],
)
BURST = Trial(
    "burst",
    "5,000 at one instant, concurrency 5,000",
    {"duetime": at_one_instant},
    [Goal("p99 under 150 ms", ("duetime", P99), 150.0, most=True)],
)
WAKE = Trial(
    "wake",
    "delay=0 from another process, to the start",
    {
        "PostgreSQL": waking(lambda spot: spot.server_place),
        "SQLite": waking(lambda spot: spot.file_place),
        "polling only": waking(lambda spot: {**spot.server_place, "listen": False}),
    },
    [
        Goal("PostgreSQL p99 15 ms", ("PostgreSQL", P99), 15.0, most=True),
        Goal("SQLite p99 100 ms", ("SQLite", P99), 100.0, most=True),
        Goal("polling only p99 1.1 s", ("polling only", P99), 1100.0, most=True),
    ],
)
SHARING = Trial(
    "sharing",
    "1,000 handlers of 1 s, two workers of 100 slots",
    {"duetime": sharing},
    [Goal("1.1 x the ideal", ("duetime", "of the ideal x"), 1.1, most=True)],
)
TENANTS = Trial(
    "tenants",
    "one tenant with 100,000 due of 100 ms handlers, another with one, 100 slots",
    {"duetime": neighbours},
    [
        Goal("starts within 2 s", ("duetime", "other shard s"), 2.0, most=True),
        Goal("in the same shard, too", ("duetime", "same shard s"), 2.0, most=True),
    ],
)
TRIALS = [LATENESS, BURST, WAKE, SHARING, TENANTS]
