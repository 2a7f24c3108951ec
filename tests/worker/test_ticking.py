"""When ticks are dealt with, told by what a store answers."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from awaiting import until
from duetime import Duetime
from duetime.errors import StoreUnavailable
from duetime.model.clock import SystemClock, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.change import Change, Changed, Decide, Edited, Found
from duetime.model.jobs.job import JobRecord
from duetime.model.lane import job_lane
from duetime.store.flow import Wake
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.ticker import Ticker

NAME = "market-open"


def at(hour: int, minute: int = 0) -> int:
    return to_micros(datetime(2026, 1, 5, hour, minute, tzinfo=UTC))


def job(next_due: int) -> JobRecord:
    app = Duetime("memory://")
    app.job("0 * * * *", name=NAME, misfire="skip")(lambda: None)
    definition = app.parts.jobs.get(NAME)
    assert definition is not None
    return JobRecord(
        definition=definition,
        app="shop",
        declared=True,
        version=1,
        created_at=0,
        created_by="me",
        next_due_at=next_due,
    )


def changed() -> Changed:
    return Changed(job(at(10)), job(at(11)), (), ())


class Answering:
    """A store that gives these answers, one after the other."""

    def __init__(self, *answers: Callable[[Decide], Edited] | Exception) -> None:
        self._answers = iter(answers)

    async def perform(self, decide: Decide) -> Edited:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer(decide)


class Slow:
    """A store that answers when it is told what."""

    def __init__(self) -> None:
        self.looks: list[tuple[Decide, asyncio.Future[Edited]]] = []

    async def perform(self, decide: Decide) -> Edited:
        look: asyncio.Future[Edited] = asyncio.get_running_loop().create_future()
        self.looks.append((decide, look))
        return await look


def ticker_of(store: Any, batch: int = 500) -> Ticker:
    telling: Any = SimpleNamespace(edit_jobs=lambda due, decide: decide)
    settings: Any = SimpleNamespace(app="shop", batch=batch, misfire_after=60.0)
    now = StoreTime(SystemClock(), time.monotonic)
    now.heard(at(10), time.monotonic())
    return Ticker(store, telling, now, settings, TimeOrderedIds(), lambda changes: None)


async def test_an_outage_after_a_job_was_held_makes_its_ticks_misfires() -> None:
    """That somebody held it says nothing of the hours in which nobody could be asked."""
    made: list[Change | None] = []

    def held(decide: Decide) -> Edited:
        return Edited([], at(10), at(10))

    def back(decide: Decide) -> Edited:
        made.append(decide(Found(NAME, job(at(12)), (), at(15, 30), True, False)))
        return Edited([], at(16), at(15, 30))

    ticker = ticker_of(Answering(held, StoreUnavailable("it is away"), back))
    await ticker.tick()
    with pytest.raises(StoreUnavailable):
        await ticker.tick()
    await ticker.tick()
    [change] = made
    assert change is not None
    assert all(one.skipped for one in change.occurrences)


async def looking(ticker: Ticker, store: Slow) -> asyncio.Task[int]:
    before = len(store.looks)
    look = asyncio.create_task(ticker.tick())
    await until(lambda: len(store.looks) > before)
    return look


async def test_after_a_full_batch_two_are_under_way_until_one_is_not_full() -> None:
    store = Slow()
    ticker = ticker_of(store, batch=1)
    services = (ticker.service, ticker.beside)
    tasks = [asyncio.create_task(service.run()) for service in services]
    ticker.swept(at(10), anew=True)
    await until(lambda: store.looks)
    store.looks[0][1].set_result(Edited([changed()], at(10), at(10)))
    await until(lambda: len(store.looks) == 3)
    for _, look in store.looks[1:]:
        look.set_result(Edited([], None, at(10)))
    for service in services:
        service.stop()
    await asyncio.gather(*tasks)
    assert len(store.looks) == 3


@pytest.mark.parametrize("first", [0, 1])
async def test_what_is_heard_while_two_are_under_way_is_not_forgotten(first: int) -> None:
    store = Slow()
    ticker = ticker_of(store)
    looks = [await looking(ticker, store)]
    ticker.woken([Wake(job_lane("shop"), at(11), at(10))])
    looks.append(await looking(ticker, store))
    for one in (first, 1 - first):
        store.looks[one][1].set_result(Edited([], None, at(10)))
        await looks[one]
    assert ticker.next_tick == at(11)


async def test_what_the_other_look_holds_is_not_held_by_others() -> None:
    """Else a tick that was missed would run, against its policy."""
    store = Slow()
    ticker = ticker_of(store)
    looks = [await looking(ticker, store) for _ in range(2)]
    store.looks[1][1].set_result(Edited([], at(12), at(12)))
    await looks[1]
    change = store.looks[0][0](Found(NAME, job(at(12)), (), at(15, 30), True, False))
    store.looks[0][1].set_result(Edited([], None, at(16)))
    await looks[0]
    assert change is not None
    assert all(one.skipped for one in change.occurrences)
