"""Runs of an action and occurrences of a job, page by page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note
from api.hourly_job import NAME, at, clock, ticks
from duetime import ANY, Context, Duetime, Outcome, Retry
from duetime.errors import InvalidArgument, JobNotFound, NaiveDatetime
from duetime.testing import FakeClock

__all__ = ["clock", "ticks"]


class TestOfAnAction:
    async def test_the_older_come_before_a_run(self, app: Duetime, clock: FakeClock) -> None:
        @app.handler(retry=Retry(delays=[1, 1, 1]))
        async def fail(payload: Note) -> None:
            raise ConnectionError

        action = await app.schedule(Note())
        await app.testing.advance(10)
        everything = await app.runs(action.id)
        assert [run.attempt for run in everything] == [1, 2, 3, 4]
        newest = await app.runs(action.id, limit=2)
        assert newest == everything[2:]
        older = await app.runs(action.id, limit=2, before=newest[0].id)
        assert older == everything[:2]
        assert await app.runs(action.id, before=str(older[0].id)) == []

    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            *(("limit", bad) for bad in (0, -1, 201, True, 1.5, "7", None)),
            *(("before", bad) for bad in ("", "nonsense", 7, b"x", at(0))),
        ],
    )
    async def test_bad_input(self, memory_app: Duetime, argument: str, value: Any) -> None:
        action = await memory_app.schedule(Note())
        with pytest.raises(InvalidArgument) as refused:
            await memory_app.runs(action.id, **{argument: value})
        assert refused.value.argument == argument

    async def test_a_run_of_another_action_is_refused(self, app: Duetime) -> None:
        action = await app.schedule(Note())
        with pytest.raises(InvalidArgument, match="run of this action"):
            await app.runs(action.id, before=uuid4())


class TestOfAJob:
    async def test_the_older_come_before_an_occurrence(
        self, app: Duetime, clock: FakeClock, ticks: list[Any]
    ) -> None:
        await app.testing.advance(hours=5)
        everything = await app.jobs.runs(NAME)
        assert [run.tick for run in everything] == [at(hour) for hour in (5, 4, 3, 2, 1)]
        newest = await app.jobs.runs(NAME, limit=2)
        older = await app.jobs.runs(NAME, limit=2, before=newest[-1].action_id)
        assert (newest, older) == (everything[:2], everything[2:4])
        assert await app.jobs.runs(NAME, before=str(older[-1].action_id)) == everything[4:]
        assert await app.jobs.runs(NAME, before=everything[-1].action_id) == []

    async def test_the_older_come_before_an_instant(
        self, app: Duetime, clock: FakeClock, ticks: list[Any]
    ) -> None:
        await app.testing.advance(hours=5)
        runs = await app.jobs.runs(NAME, before=at(3))
        assert [run.tick for run in runs] == [at(2), at(1)]

    async def test_those_of_an_outcome(self, app: Duetime, clock: FakeClock) -> None:
        @app.job("0 * * * *", name=NAME, retry=Retry.none())
        async def odd_hours_fail(ctx: Context) -> None:
            assert ctx.tick is not None
            if ctx.tick.hour % 2:
                raise ValueError

        await app.testing.advance(hours=5)
        failed = await app.jobs.runs(NAME, outcome="failed")
        assert [run.tick for run in failed] == [at(5), at(3), at(1)]
        older = await app.jobs.runs(NAME, outcome=Outcome.failed, before=failed[0].action_id)
        assert older == failed[1:]
        assert await app.jobs.runs(NAME, outcome="skipped") == []

    async def test_each_has_its_duration(self, app: Duetime, clock: FakeClock) -> None:
        @app.job("0 * * * *", name=NAME)
        async def work() -> None:
            clock.advance(seconds=90)

        await app.testing.advance(hours=1)
        [run] = await app.jobs.runs(NAME)
        assert run.duration == timedelta(seconds=90)
        triggered = await app.jobs.trigger(NAME)
        waiting = {run.action_id: run.duration for run in await app.jobs.runs(NAME)}
        assert waiting[triggered.id] is None

    async def test_an_occurrence_of_another_job_is_refused(
        self, app: Duetime, clock: FakeClock, ticks: list[Any]
    ) -> None:
        app.handler()(handle)
        await app.jobs.put("bank-mail", "0 * * * *", payload=Note(), tenant="bank")
        await app.testing.advance(hours=1)
        [foreign] = await app.jobs.runs("bank-mail", tenant="bank")
        action = await app.schedule(Note())
        for unknown in (foreign.action_id, action.id, uuid4()):
            with pytest.raises(InvalidArgument, match="occurrence of this job"):
                await app.jobs.runs(NAME, before=unknown)
        with pytest.raises(JobNotFound):
            await app.jobs.runs("bank-mail", before=foreign.action_id)
        assert len(await app.jobs.runs("bank-mail", before=at(9), tenant=ANY)) == 1

    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            *(("limit", bad) for bad in (0, 201, True, "7", None)),
            *(("before", bad) for bad in ("", "yesterday", 7, b"x", timedelta(1))),
            *(("outcome", bad) for bad in ("", "fail", 7, ["failed"], "'")),
        ],
        ids=repr,
    )
    async def test_bad_input(self, memory_app: Duetime, argument: str, value: Any) -> None:
        memory_app.handler()(handle)
        await memory_app.jobs.put(NAME, "0 * * * *", payload=Note())
        with pytest.raises(InvalidArgument) as refused:
            await memory_app.jobs.runs(NAME, **{argument: value})
        assert refused.value.argument == argument

    async def test_an_instant_without_a_zone_is_refused(self, memory_app: Duetime) -> None:
        with pytest.raises(NaiveDatetime):
            await memory_app.jobs.runs(NAME, before=at(1).replace(tzinfo=None))


async def handle(payload: Note) -> None: ...
