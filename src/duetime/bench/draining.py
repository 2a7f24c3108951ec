"""Throughput: how many actions per second are scheduled, and how many are run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice

from duetime.api.arguments import AnyPayload
from duetime.app import Duetime
from duetime.bench.processes import worker_processes
from duetime.bench.scratch_store import StoreArguments
from duetime.bench.wait import until_finished
from duetime.bench.work import Noop, make_app

BATCH_SIZE = 1_000
CLIENTS = 32

MakePayload = Callable[[int], AnyPayload]


async def drain(
    store: StoreArguments, count: int, *, payload: MakePayload = Noop, workers: int = 1
) -> dict[str, float]:
    """Schedule `count` actions in bulk, then run them all in worker processes."""
    async with make_app(**store) as app:
        scheduled = await schedule_in_bulk(app, (payload(n) for n in range(count)))
        took = await run_all(app, store, workers)
    return {"schedule /s": count / scheduled, "drain /s": count / took}


async def schedule_in_bulk(
    app: Duetime, payloads: Iterable[AnyPayload], at: datetime | None = None
) -> float:
    """Schedule the payloads in batches; return the seconds taken."""
    await app.find(limit=1)  # creates the tables, which is not measured
    remaining = iter(payloads)
    began = time.perf_counter()
    while batch := list(islice(remaining, BATCH_SIZE)):
        await app.schedule_many(app.request(payload, at=at) for payload in batch)
    return time.perf_counter() - began


async def run_all(app: Duetime, store: StoreArguments, workers: int = 1) -> float:
    """Run all due actions in processes that have loaded everything; return the seconds until the
    store showed that none is left."""
    with worker_processes(store, workers) as running:
        began = time.perf_counter()
        running.begin()
        await until_finished(app, running)
        return time.perf_counter() - began


async def schedule_one_by_one(
    store: StoreArguments, count: int, clients: int = CLIENTS
) -> dict[str, float]:
    """Schedule actions one by one, by concurrent clients; each client commits an action before
    its next."""
    app = make_app(**store)
    numbers = iter(range(count))

    async def client() -> None:
        for n in numbers:
            await app.schedule(Noop(n), delay=3600)

    async with app:
        # Open the connections before the measurement starts.
        await asyncio.gather(*(app.schedule(Noop(n), delay=3600) for n in range(clients)))
        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        took = time.perf_counter() - began
    return {"schedule one by one /s": count / took}
