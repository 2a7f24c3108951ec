"""PgQueuer with asyncpg and uvloop: batches of 500, ten times its default, are fastest."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import asyncpg
import uvloop
from driving import BATCH, arguments, instants, late, print_lates, print_rates, until, url
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

FASTEST = 500


async def main() -> None:
    name, count, seconds = arguments()
    async with asyncpg.create_pool(url(), min_size=4, max_size=10) as pool:
        driver = AsyncpgPoolDriver(pool)
        await Queries(driver).install()
        await (drain(pool, driver, count) if name == "drain" else spread(driver, count, seconds))


async def drain(pool: asyncpg.Pool, driver: AsyncpgPoolDriver, count: int) -> None:
    began = time.perf_counter()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        payloads = [b'{"n": %d}' % n for n in range(first, first + size)]
        await Queries(driver).enqueue(["noop"] * size, payloads, [0] * size)
    scheduled = time.perf_counter() - began

    peer, ran, done = PgQueuer(driver), iter(range(1, count + 1)), asyncio.Event()

    @peer.entrypoint("noop")
    async def noop(job: object) -> None:
        if next(ran) == count:
            done.set()

    async def empty() -> bool:
        return bool(await pool.fetchval("SELECT count(*) FROM pgqueuer") == 0)

    began = time.perf_counter()
    running = asyncio.create_task(peer.run(batch_size=FASTEST))
    await done.wait()
    await until(empty)
    print_rates(count, scheduled, time.perf_counter() - began)
    peer.shutdown.set()
    await asyncio.wait_for(running, 30)


async def spread(driver: AsyncpgPoolDriver, count: int, seconds: float) -> None:
    peer, lates, done = PgQueuer(driver), list[float](), asyncio.Event()

    @peer.entrypoint("timed")
    async def timed(job: object) -> None:
        lates.append(late(float(job.payload)))  # type: ignore[attr-defined]
        if len(lates) == count:
            done.set()

    running = asyncio.create_task(peer.run())
    await asyncio.sleep(1)
    dues = instants(count, seconds)
    await Queries(driver).enqueue(
        ["timed"] * count,
        [str(due.timestamp()).encode() for due in dues],
        [0] * count,
        [due - datetime.now(UTC) for due in dues],
    )
    await done.wait()
    print_lates(lates)
    peer.shutdown.set()
    await asyncio.wait_for(running, 30)


uvloop.run(main())
