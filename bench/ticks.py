"""Trials of many jobs: due in the same second, and not due at all."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta

from costs import statements
from trial import Goal, Spot, Take, Trial

from duetime import Context, Duetime, Instants
from duetime.bench.figures import RoundFigures
from faults.proxy import Proxy

# Seconds that a starting worker needs to seed ten thousand jobs.
SEEDING_SECONDS = 20


def ticks(workers: int) -> Take:
    """Measure when the last tick of 10,000 jobs, all due at one instant, has started. Each tick
    must start once, with any number of workers."""

    async def take(spot: Spot) -> RoundFigures:
        return await _ticks(spot.url, spot.count(10_000), workers)

    return take


async def _ticks(url: str, count: int, workers: int) -> RoundFigures:
    ahead = 3 + (10 + SEEDING_SECONDS * workers) * count / 10_000
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=ahead)
    seen: Counter[str | None] = Counter()
    late: list[float] = []
    done = asyncio.Event()

    def make() -> Duetime:
        app = Duetime(url)
        for number in range(count):
            app.job(Instants([due]), name=f"bench-tick-{number}")(report)
        return app

    async def report(ctx: Context) -> None:
        late.append(time.time() - due.timestamp())
        seen[ctx.job] += 1
        if len(seen) == count:
            done.set()

    apps = [make() for _ in range(workers)]
    began = time.perf_counter()
    running = [app.worker() for app in apps]
    for worker in running:
        await worker.__aenter__()
    seeded = time.perf_counter() - began
    await done.wait()
    for worker in running:
        await worker.__aexit__(None, None, None)
    for app in apps:
        await app.aclose()
    twice = sum(number > 1 for number in seen.values())
    return {"seeded s": seeded, "last start s": max(late), "twice ticks": twice}


def idle(count: int) -> Take:
    """Count the statements of a worker with `count` jobs, none of which is due soon."""

    async def take(spot: Spot) -> RoundFigures:
        with closing(Proxy(spot.url)) as between:
            app = Duetime(between.url)
            for number in range(count):
                app.job("0 0 29 2 *", name=f"bench-idle-{number}")(nothing)
            async with app, app.worker():
                return await statements(between, spot)

    return take


def nothing() -> None: ...


JOBS = Trial(
    "jobs",
    "10,000 jobs due at one instant",
    {"1 worker": ticks(1), "4 workers": ticks(4)},
    [
        Goal("all started within 2 s, 1 worker", ("1 worker", "last start s"), 2.0, most=True),
        *(
            Goal(f"none twice, {who}", (who, "twice ticks"), 0, most=True)
            for who in ("1 worker", "4 workers")
        ),
    ],
    rounds=1,
)
IDLE = Trial(
    "jobs-idle",
    "statements of a worker with jobs that are not due",
    {"ten": idle(10), "10,000": idle(10_000)},
    [
        Goal(
            "10,000 jobs ask no more than ten",
            ("10,000", "statements /min"),
            1.1,
            to=("ten", "statements /min"),
            most=True,
        )
    ],
    rounds=1,
)
TRIALS = [JOBS, IDLE]
