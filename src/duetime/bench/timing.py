"""Lateness: how late actions start that are spread over time, due at one instant, or due at
once."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

from duetime.app import Duetime
from duetime.bench.figures import lateness_figures
from duetime.bench.processes import worker_processes
from duetime.bench.scratch_store import StoreArguments
from duetime.bench.wait import results, until_finished, until_working
from duetime.bench.work import Timed, make_app

# Time before the first action is due: long enough to schedule all, at this rate.
HEAD_START_SECONDS = 2.0
SCHEDULED_PER_SECOND = 2_000


async def lateness(store: StoreArguments, count: int, seconds: float) -> dict[str, float]:
    """Measure the lateness of `count` actions, due at random instants within `seconds`."""
    dice = random.Random(1)  # noqa: S311
    return await _measure(store, [dice.random() * seconds for _ in range(count)])


async def burst(store: StoreArguments, count: int) -> dict[str, float]:
    """Measure the lateness of `count` actions due at one instant, for a worker with as many
    slots."""
    return await _measure({**store, "concurrency": count}, [0.0] * count)


async def wake(store: StoreArguments, count: int, seconds: float) -> dict[str, float]:
    """Schedule `count` actions with `delay=0` at random instants, for a worker in another process;
    measure the time from the call of `schedule` to the start."""
    app = make_app(**store)
    dice = random.Random(2)  # noqa: S311
    async with app:
        with worker_processes(store) as workers:
            await until_working(app, workers)
            start = app.clock.now()
            for offset in sorted(dice.random() * seconds for _ in range(count)):
                elapsed = (app.clock.now() - start).total_seconds()
                await asyncio.sleep(max(0.0, offset - elapsed))
                await app.schedule(Timed(app.clock.now()), delay=0)
            await until_finished(app, workers)
        return lateness_figures([late for _, late in await results(app, "timed")])


async def _measure(store: StoreArguments, offsets: list[float]) -> dict[str, float]:
    app = make_app(**store)
    async with app:
        with worker_processes(store) as workers:
            await until_working(app, workers)
            start = app.clock.now() + timedelta(
                seconds=HEAD_START_SECONDS + len(offsets) / SCHEDULED_PER_SECOND
            )
            dues = [start + timedelta(seconds=offset) for offset in offsets]
            await schedule_timed(app, dues)
            await asyncio.sleep((max(dues) - app.clock.now()).total_seconds())
            await until_finished(app, workers)
        return lateness_figures([late for _, late in await results(app, "timed")])


async def schedule_timed(app: Duetime, dues: list[datetime]) -> None:
    """Schedule actions at these times of this machine's clock, which handlers use to measure
    lateness; the store uses its own clock."""
    offset = timedelta(seconds=(await app.stats()).clock_offset)
    await app.schedule_many((Timed(due), due + offset) for due in dues)
