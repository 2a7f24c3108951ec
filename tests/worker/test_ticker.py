"""When ticks are processed, depending on what the store answers."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from duetime import Duetime
from duetime.errors import StoreUnavailable
from duetime.model.clock import SystemClock, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.change import AppliedJobChange, FoundJob, JobChange, JobEdit, JobEditResult
from duetime.model.jobs.job import JobRecord
from duetime.model.lane import job_lane
from duetime.store.flow import Wake
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.ticker import Ticker
from polling import until

JOB_NAME = "market-open"


def at(hour: int, minute: int = 0) -> int:
    return to_micros(datetime(2026, 1, 5, hour, minute, tzinfo=UTC))


def job(next_due: int) -> JobRecord:
    app = Duetime("memory://")
    app.job("0 * * * *", name=JOB_NAME, misfire="skip")(lambda: None)
    definition = app.runtime.jobs.get(JOB_NAME)
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


def changed() -> AppliedJobChange:
    return AppliedJobChange(job(at(10)), job(at(11)), (), ())


class AnsweringStore:
    """A store that gives these answers, one after the other."""

    def __init__(self, *answers: Callable[[JobEdit], JobEditResult] | Exception) -> None:
        self._answers = iter(answers)

    async def perform(self, decide: JobEdit) -> JobEditResult:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer(decide)


class SlowStore:
    """A store that answers when the test sets a result."""

    def __init__(self) -> None:
        self.edits: list[tuple[JobEdit, asyncio.Future[JobEditResult]]] = []

    async def perform(self, decide: JobEdit) -> JobEditResult:
        edit: asyncio.Future[JobEditResult] = asyncio.get_running_loop().create_future()
        self.edits.append((decide, edit))
        return await edit


def ticker_of(store: Any, batch: int = 500) -> Ticker:
    outbox_store: Any = SimpleNamespace(edit_jobs=lambda due, decide: decide)
    settings: Any = SimpleNamespace(app="shop", batch=batch, misfire_after=60.0)
    now = StoreClock(SystemClock(), time.monotonic)
    now.observe(at(10), time.monotonic())
    return Ticker(store, outbox_store, now, settings, TimeOrderedIds(), lambda changes: None)


async def test_an_outage_after_a_job_was_locked_makes_its_ticks_misfires() -> None:
    """A lock before the outage says nothing about the hours without a store."""
    changes: list[JobChange | None] = []

    def locked(decide: JobEdit) -> JobEditResult:
        return JobEditResult([], at(10), at(10))

    def back(decide: JobEdit) -> JobEditResult:
        changes.append(decide(FoundJob(JOB_NAME, job(at(12)), (), at(15, 30), True, False)))
        return JobEditResult([], at(16), at(15, 30))

    ticker = ticker_of(AnsweringStore(locked, StoreUnavailable("it is away"), back))
    await ticker.tick()
    with pytest.raises(StoreUnavailable):
        await ticker.tick()
    await ticker.tick()
    [change] = changes
    assert change is not None
    assert all(occurrence.skipped for occurrence in change.occurrences)


async def start_tick(ticker: Ticker, store: SlowStore) -> asyncio.Task[int]:
    before = len(store.edits)
    edit = asyncio.create_task(ticker.tick())
    await until(lambda: len(store.edits) > before)
    return edit


async def test_after_a_full_batch_two_edits_run_until_one_is_not_full() -> None:
    store = SlowStore()
    ticker = ticker_of(store, batch=1)
    services = (ticker.service, ticker.concurrent_service)
    tasks = [asyncio.create_task(service.run()) for service in services]
    ticker.sweep_finished(at(10), full=True)
    await until(lambda: store.edits)
    store.edits[0][1].set_result(JobEditResult([changed()], at(10), at(10)))
    await until(lambda: len(store.edits) == 3)
    for _, edit in store.edits[1:]:
        edit.set_result(JobEditResult([], None, at(10)))
    for service in services:
        service.stop()
    await asyncio.gather(*tasks)
    assert len(store.edits) == 3


@pytest.mark.parametrize("first", [0, 1])
async def test_wakes_during_two_concurrent_edits_are_not_forgotten(first: int) -> None:
    store = SlowStore()
    ticker = ticker_of(store)
    edits = [await start_tick(ticker, store)]
    ticker.woken([Wake(job_lane("shop"), at(11), at(10))])
    edits.append(await start_tick(ticker, store))
    for number in (first, 1 - first):
        store.edits[number][1].set_result(JobEditResult([], None, at(10)))
        await edits[number]
    assert ticker.next_tick == at(11)


async def test_what_our_own_edit_locks_is_not_locked_by_others() -> None:
    """Else a tick that was missed would run, against its misfire policy."""
    store = SlowStore()
    ticker = ticker_of(store)
    edits = [await start_tick(ticker, store) for _ in range(2)]
    store.edits[1][1].set_result(JobEditResult([], at(12), at(12)))
    await edits[1]
    change = store.edits[0][0](FoundJob(JOB_NAME, job(at(12)), (), at(15, 30), True, False))
    store.edits[0][1].set_result(JobEditResult([], None, at(16)))
    await edits[0]
    assert change is not None
    assert all(occurrence.skipped for occurrence in change.occurrences)
