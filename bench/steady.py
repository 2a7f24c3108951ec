"""Trials of a load that goes on and on: ten minutes, and beside an old transaction."""

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

from duetime.api.arguments import Request
from duetime.app import Duetime
from duetime.bench.draining import bulk, work_off
from duetime.bench.figures import Taken
from duetime.bench.processes import Crew, crew
from duetime.bench.scratch_store import Place
from duetime.bench.wait import until_at_work
from duetime.bench.work import Counted, Noop, Report, make

RATE = 5_000
STEP = 0.02
# Of all that comes: due within a minute, and failing once; the rest is due now.
LATER, FLAKY = 0.15, 0.05
PERIODS = 10


@dataclass
class Load:
    """Actions at a steady rate, and what the worker tells of each period."""

    app: Duetime
    rate: int
    dice: random.Random = field(default_factory=lambda: random.Random(3))  # noqa: S311
    scheduled: int = 0

    async def run(self, seconds: float, workers: Crew) -> list[dict[str, float]]:
        told = []
        began = time.monotonic()
        for period in range(PERIODS):
            await self._period(began + seconds * period / PERIODS, seconds / PERIODS)
            workers.check()
            told.append(await self._report())
        return told

    async def _period(self, start: float, seconds: float) -> None:
        """Batch after batch, each at its time; a batch that was held up is not made up for by
        the next, but by all that follow at once."""
        for step in range(max(1, round(seconds / STEP))):
            await asyncio.sleep(max(0.0, start + step * STEP - time.monotonic()))
            batch = [self._request() for _ in range(max(1, round(self.rate * STEP)))]
            await self.app.schedule_many(batch)
            self.scheduled += len(batch)

    def _request(self) -> Request:
        now, chance = self.app.clock.now(), self.dice.random()
        if chance < LATER:
            due = now + timedelta(seconds=60 * self.dice.random())
            return self.app.request(Counted(due), at=due)
        return self.app.request(Counted(now, flaky=chance < LATER + FLAKY))

    async def _report(self) -> dict[str, float]:
        action = await self.app.schedule(Report(), priority="critical")
        result = (await self.app.wait(action.id, timeout=timedelta(minutes=2))).result
        assert isinstance(result, dict)
        return result


async def steadily(place: Place, rate: int, seconds: float) -> tuple[list[dict[str, float]], float]:
    """What each tenth of the time came to, and the rate that was held."""
    app = make(**place)
    async with app:
        with crew(place) as workers:
            await until_at_work(app, workers)
            load = Load(app, rate)
            began = time.monotonic()
            told = await load.run(seconds, workers)
            held = load.scheduled / (time.monotonic() - began)
    return [one for one in told if one["count"]], held


async def ten_minutes(spot: Spot) -> Taken:
    told, held = await steadily(spot.server_place, spot.count(RATE), spot.seconds(600, least=2))
    periods = {f"p99 of tenth {n} ms": one["p99 ms"] for n, one in enumerate(told, start=1)}
    p99s = list(periods.values())
    third = len(p99s) // 3 or 1
    return {
        "rate /s": held,
        "first p99 ms": max(p99s[:third]),
        "last p99 ms": max(p99s[-third:]),
        "middle p99 ms": statistics.median(p99s),
        "worst p99 ms": max(p99s),
        "least ms": min(one["least ms"] for one in told),
        **periods,
    }


async def minute(spot: Spot) -> Taken:
    told, held = await steadily(spot.server_place, spot.count(RATE), spot.seconds(60, least=2))
    half = told[len(told) // 2 :]
    return {"p99 ms": max(one["p99 ms"] for one in half), "rate /s": held}


async def minute_beside_old(spot: Spot) -> Taken:
    with old_transaction(spot.url):
        return await minute(spot)


async def drain_one_instant(spot: Spot) -> Taken:
    count = spot.count(100_000)
    async with make(**spot.server_place) as app:
        await bulk(app, (Noop(n) for n in range(count)), at=app.clock.now())
        return {"drain /s": count / await work_off(app, spot.server_place)}


async def drain_beside_old(spot: Spot) -> Taken:
    with old_transaction(spot.url):
        return await drain_one_instant(spot)


@contextmanager
def old_transaction(url: str) -> Iterator[None]:
    """Somebody who looked, and went to lunch: no row that dies meanwhile can be cleared away."""
    with psycopg.connect(url) as lunch:
        lunch.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        lunch.execute("SELECT pg_current_xact_id(), count(*) FROM pg_class")
        yield
        lunch.rollback()


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
