"""When ticks are dealt with, told by what a store answers."""

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
from duetime.model.job import JobRecord
from duetime.model.job_change import Change, Decide, Edited, Found
from duetime.worker.storetime import StoreTime
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


class Answering:
    """A store that gives these answers, one after the other."""

    def __init__(self, *answers: Callable[[Decide], Edited] | Exception) -> None:
        self._answers = iter(answers)

    async def perform(self, decide: Decide) -> Edited:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer(decide)


async def test_an_outage_after_a_job_was_held_makes_its_ticks_misfires() -> None:
    """That somebody held it says nothing of the hours in which nobody could be asked."""
    made: list[Change | None] = []

    def held(decide: Decide) -> Edited:
        return Edited([], at(10), at(10))

    def back(decide: Decide) -> Edited:
        made.append(decide(Found(NAME, job(at(12)), (), at(15, 30), True, False)))
        return Edited([], at(16), at(15, 30))

    store: Any = Answering(held, StoreUnavailable("it is away"), back)
    telling: Any = SimpleNamespace(edit_jobs=lambda due, decide: decide)
    settings: Any = SimpleNamespace(app="shop", batch=500, misfire_after=60.0)
    now = StoreTime(SystemClock(), time.monotonic)
    ticker = Ticker(store, telling, now, settings, TimeOrderedIds(), lambda changes: None)
    await ticker.tick()
    with pytest.raises(StoreUnavailable):
        await ticker.tick()
    await ticker.tick()
    [change] = made
    assert change is not None
    assert all(one.skipped for one in change.occurrences)
