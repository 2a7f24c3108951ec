"""Procrastinate with psycopg: 50 jobs at once, and polling ten times as often as by default."""

from __future__ import annotations

import asyncio
import time

from driving import BATCH, arguments, instants, late, print_lates, print_rates, until, url
from procrastinate import App, PsycopgConnector

SLOTS = 50


async def main() -> None:
    name, count, seconds = arguments()
    app = App(connector=PsycopgConnector(conninfo=url(), min_size=4, max_size=SLOTS + 4))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await (drain(app, count) if name == "drain" else spread(app, count, seconds))


async def drain(app: App, count: int) -> None:
    @app.task(name="noop")
    async def noop(n: int) -> None: ...

    async def empty() -> bool:
        left = "SELECT count(*) AS n FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        return bool((await app.connector.execute_query_one_async(left))["n"] == 0)

    began = time.perf_counter()
    for first in range(0, count, BATCH):
        last = min(first + BATCH, count)
        await noop.batch_defer_async(*({"n": n} for n in range(first, last)))
    scheduled = time.perf_counter() - began
    began = time.perf_counter()
    running = asyncio.create_task(
        app.run_worker_async(
            concurrency=SLOTS, install_signal_handlers=False, fetch_job_polling_interval=0.5
        )
    )
    await until(empty)
    print_rates(count, scheduled, time.perf_counter() - began)
    await stop(running)


async def spread(app: App, count: int, seconds: float) -> None:
    lates, done = list[float](), asyncio.Event()

    @app.task(name="timed")
    async def timed(due: float) -> None:
        lates.append(late(due))
        if len(lates) == count:
            done.set()

    running = asyncio.create_task(
        app.run_worker_async(concurrency=SLOTS, install_signal_handlers=False)
    )
    for due in instants(count, seconds):
        await timed.configure(schedule_at=due).defer_async(due=due.timestamp())
    await done.wait()
    print_lates(lates)
    await stop(running)


async def stop(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.wait([running])


asyncio.run(main())
