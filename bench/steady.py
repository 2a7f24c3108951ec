"""Trials of a steady load: for ten minutes, and beside an old transaction."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import psycopg
from trial import Goal, Spot, Trial

from duetime.api.requests import Request
from duetime.app import Duetime
from duetime.bench.draining import run_all, schedule_in_bulk
from duetime.bench.figures import RoundFigures
from duetime.bench.processes import WorkerProcesses, worker_processes
from duetime.bench.scratch_store import StoreArguments
from duetime.bench.wait import until_working
from duetime.bench.work import CountedRun, LatenessReport, Noop, make_app

RATE = 5_000
STEP = 0.02
# Shares of actions that are due within a minute, and that fail once; the rest is due now.
LATER, FLAKY = 0.15, 0.05
PERIODS = 10


@dataclass
class Load:
    """Actions at a steady rate, and the worker's lateness report of each period."""

    app: Duetime
    rate: int
    dice: random.Random = field(default_factory=lambda: random.Random(3))  # noqa: S311
    scheduled: int = 0

    async def run(self, seconds: float, workers: WorkerProcesses) -> list[dict[str, float]]:
        reports = []
        began = time.monotonic()
        for period in range(PERIODS):
            await self._period(began + seconds * period / PERIODS, seconds / PERIODS)
            workers.check()
            reports.append(await self._report())
        return reports

    async def _period(self, start: float, seconds: float) -> None:
        """Schedule batch after batch, each at its time. After a delay, all overdue batches follow
        without a pause."""
        for step in range(max(1, round(seconds / STEP))):
            await asyncio.sleep(max(0.0, start + step * STEP - time.monotonic()))
            batch = [self._request() for _ in range(max(1, round(self.rate * STEP)))]
            await self.app.schedule_many(batch)
            self.scheduled += len(batch)

    def _request(self) -> Request:
        now, chance = self.app.clock.now(), self.dice.random()
        if chance < LATER:
            due = now + timedelta(seconds=60 * self.dice.random())
            return self.app.request(CountedRun(due), at=due)
        return self.app.request(CountedRun(now, flaky=chance < LATER + FLAKY))

    async def _report(self) -> dict[str, float]:
        action = await self.app.schedule(LatenessReport(), priority="critical")
        result = (await self.app.wait(action.id, timeout=timedelta(minutes=2))).result
        assert isinstance(result, dict)
        return result


async def steadily(
    store: StoreArguments, rate: int, seconds: float
) -> tuple[list[dict[str, float]], float]:
    """Return the lateness report of each tenth of the time, and the rate achieved."""
    app = make_app(**store)
    async with app:
        with worker_processes(store) as workers:
            await until_working(app, workers)
            load = Load(app, rate)
            began = time.monotonic()
            reports = await load.run(seconds, workers)
            achieved = load.scheduled / (time.monotonic() - began)
    return [report for report in reports if report["count"]], achieved


async def ten_minutes(spot: Spot) -> RoundFigures:
    seconds = spot.seconds(600, least=2)
    reports, achieved = await steadily(spot.server_place, spot.count(RATE), seconds)
    periods = {
        f"p99 of tenth {n} ms": report["p99 ms"] for n, report in enumerate(reports, start=1)
    }
    p99s = list(periods.values())
    third = len(p99s) // 3 or 1
    return {
        "rate /s": achieved,
        "first p99 ms": max(p99s[:third]),
        "last p99 ms": max(p99s[-third:]),
        "middle p99 ms": statistics.median(p99s),
        "worst p99 ms": max(p99s),
        "least ms": min(report["least ms"] for report in reports),
        **periods,
    }


async def minute(spot: Spot) -> RoundFigures:
    seconds = spot.seconds(60, least=2)
    reports, achieved = await steadily(spot.server_place, spot.count(RATE), seconds)
    half = reports[len(reports) // 2 :]
    return {"p99 ms": max(report["p99 ms"] for report in half), "rate /s": achieved}


async def minute_beside_old(spot: Spot) -> RoundFigures:
    with old_transaction(spot.url):
        return await minute(spot)


async def drain_one_instant(spot: Spot) -> RoundFigures:
    count = spot.count(100_000)
    async with make_app(**spot.server_place) as app:
        await schedule_in_bulk(app, (Noop(n) for n in range(count)), at=app.clock.now())
        return {"drain /s": count / await run_all(app, spot.server_place)}


async def drain_beside_old(spot: Spot) -> RoundFigures:
    with old_transaction(spot.url):
        return await drain_one_instant(spot)


@contextmanager
def old_transaction(url: str) -> Iterator[None]:
    """Hold a snapshot open: rows that die meanwhile cannot be vacuumed."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT pg_current_xact_id(), count(*) FROM pg_class")
        yield
        connection.rollback()


OLD = Trial(
    "old",
    "an old transaction held open for 60 s",
    {
        "steady": minute,
        "steady beside it": minute_beside_old,
        "drain": drain_one_instant,
        "drain beside it": drain_beside_old,
    },
    [
        Goal(
            "p99 of a steady 5,000/s at most 2 x",
            ("steady beside it", "p99 ms"),
            2.0,
            ("steady", "p99 ms"),
            most=True,
        ),
        Goal(
            "drain of 100,000 due at one instant 0.5 x",
            ("drain beside it", "drain /s"),
            0.5,
            ("drain", "drain /s"),
        ),
    ],
)
STEADY = Trial(
    "steady",
    "ten minutes of 5,000/s: 80 % now, 15 % within a minute, 5 % retried",
    {"duetime": ten_minutes},
    [
        Goal("5,000/s are held", ("duetime", "rate /s"), 0.98 * RATE),
        Goal(
            "p99 flat: the last third at most 1.5 x the first",
            ("duetime", "last p99 ms"),
            1.5,
            ("duetime", "first p99 ms"),
            most=True,
        ),
        Goal(
            "and the worst tenth at most 2 x the median one",
            ("duetime", "worst p99 ms"),
            2.0,
            ("duetime", "middle p99 ms"),
            most=True,
        ),
        Goal("never early", ("duetime", "least ms"), 0.0),
    ],
    rounds=1,
    apart=True,
)
TRIALS = [OLD, STEADY]
