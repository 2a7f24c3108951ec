"""How many actions a second are scheduled, and how many are run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice

from duetime.app import Duetime
from duetime.bench.processes import crew
from duetime.bench.scratch_store import Place
from duetime.bench.wait import until_finished
from duetime.bench.work import Noop, make

BATCH = 1_000
CLIENTS = 32

MakePayload = Callable[[int], object]


async def drain(
    place: Place, count: int, *, payload: MakePayload = Noop, workers: int = 1
) -> dict[str, float]:
    """Schedule `count` actions in bulk; then worker processes run them all."""
    async with make(**place) as app:
        scheduled = await bulk(app, (payload(n) for n in range(count)))
        took = await work_off(app, place, workers)
    return {"schedule /s": count / scheduled, "drain /s": count / took}


async def bulk(app: Duetime, payloads: Iterable[object], at: datetime | None = None) -> float:
    """Schedule them by the thousand; return how many seconds it took."""
    await app.find(limit=1)  # makes the tables, which is no part of it
    waiting = iter(payloads)
    began = time.perf_counter()
    while batch := list(islice(waiting, BATCH)):
        await app.schedule_many(app.request(one, at=at) for one in batch)
    return time.perf_counter() - began


async def work_off(app: Duetime, place: Place, workers: int = 1) -> float:
    """Run all that is due, in processes that have loaded everything; return how many seconds it
    took until the store showed that nothing is left."""
    with crew(place, workers) as running:
        began = time.perf_counter()
        running.go()
        await until_finished(app, running)
        return time.perf_counter() - began


async def single(place: Place, count: int, clients: int = CLIENTS) -> dict[str, float]:
    """`clients` at once schedule action by action, each committed before the client's next."""
    app = make(**place)
    numbers = iter(range(count))

    async def client() -> None:
        for n in numbers:
            await app.schedule(Noop(n), delay=3600)

    async with app:
        # Connections are opened before the clock runs.
        await asyncio.gather(*(app.schedule(Noop(n), delay=3600) for n in range(clients)))
        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        took = time.perf_counter() - began
    return {"schedule one by one /s": count / took}
