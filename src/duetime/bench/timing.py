"""How late actions start: spread over time, at one instant, or due at once."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

from duetime.app import Duetime
from duetime.bench.figures import lateness_figures
from duetime.bench.processes import crew
from duetime.bench.scratch_store import Place
from duetime.bench.wait import results, until_at_work, until_finished
from duetime.bench.work import Timed, make

# Before the first is due: long enough to schedule so many in a second.
AHEAD, A_SECOND = 2.0, 2_000


async def lateness(place: Place, count: int, seconds: float) -> dict[str, float]:
    """`count` actions, due at random instants within so many seconds."""
    dice = random.Random(1)  # noqa: S311
    return await _late(place, [dice.random() * seconds for _ in range(count)])


async def burst(place: Place, count: int) -> dict[str, float]:
    """`count` actions due at one instant, for a worker with as many slots."""
    return await _late({**place, "concurrency": count}, [0.0] * count)


async def wake(place: Place, count: int, seconds: float) -> dict[str, float]:
    """`count` actions with `delay=0`, at random instants, for a worker in another process: from
    the call of `schedule` to the start."""
    app = make(**place)
    dice = random.Random(2)  # noqa: S311
    async with app:
        with crew(place) as workers:
            await until_at_work(app, workers)
            start = app.clock.now()
            for offset in sorted(dice.random() * seconds for _ in range(count)):
                gone = (app.clock.now() - start).total_seconds()
                await asyncio.sleep(max(0.0, offset - gone))
                await app.schedule(Timed(app.clock.now()), delay=0)
            await until_finished(app, workers)
        return lateness_figures([late for _, late in await results(app, "timed")])


async def _late(place: Place, offsets: list[float]) -> dict[str, float]:
    app = make(**place)
    async with app:
        with crew(place) as workers:
            await until_at_work(app, workers)
            start = app.clock.now() + timedelta(seconds=AHEAD + len(offsets) / A_SECOND)
            dues = [start + timedelta(seconds=offset) for offset in offsets]
            await schedule_timed(app, dues)
            await asyncio.sleep((max(dues) - app.clock.now()).total_seconds())
            await until_finished(app, workers)
        return lateness_figures([late for _, late in await results(app, "timed")])


async def schedule_timed(app: Duetime, dues: list[datetime]) -> None:
    """Due by this machine's clock, by which handlers tell how late they are; the store counts by
    its own."""
    ahead = timedelta(seconds=(await app.stats()).clock_offset)
    await app.schedule_many((Timed(due), due + ahead) for due in dues)
