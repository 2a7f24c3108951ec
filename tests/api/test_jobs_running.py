"""What people do to a job while it runs: the run goes on, and the rest is as they said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from api.apps import Note
from api.hourly_job import NAME, at, clock
from duetime import Duetime, JobState, Outcome, State
from duetime.testing import FakeClock

__all__ = ["clock"]

Act = Callable[[Duetime], Awaitable[object]]


@asynccontextmanager
async def during(url: str, clock: FakeClock, act: Act) -> AsyncIterator[Duetime]:
    """The tick of one o'clock runs when somebody acts, and ends then."""
    began, go = asyncio.Event(), asyncio.Event()
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note")
        async def work(payload: Note) -> None:
            began.set()
            await go.wait()

        await app.jobs.put(NAME, "0 * * * *", payload=Note())
        async with app.worker():
            clock.set(at(1))
            await asyncio.wait_for(began.wait(), 20)
            await act(app)
            [run] = await app.jobs.runs(NAME)
            assert run.state is State.running
            go.set()
            assert (await app.wait(run.action_id, timeout=20)).state is State.succeeded
            yield app


async def test_pause(durable_url: str, clock: FakeClock) -> None:
    async with during(durable_url, clock, lambda app: app.jobs.pause(NAME, note="why")) as app:
        job = await app.jobs.get(NAME)
        assert (job.state, job.pause_note, job.next_due_at) == (JobState.paused, "why", None)
        assert job.last_outcome is Outcome.succeeded


async def test_resume_twice(durable_url: str, clock: FakeClock) -> None:
    async def act(app: Duetime) -> None:
        await app.jobs.pause(NAME)
        first = await app.jobs.resume(NAME)
        assert await app.jobs.resume(NAME) == first

    async with during(durable_url, clock, act) as app:
        job = await app.jobs.get(NAME)
        assert (job.enabled, job.next_due_at, job.version) == (True, at(2), 3)
        assert len(await app.jobs.runs(NAME)) == 1


async def test_a_rule_that_is_changed(durable_url: str, clock: FakeClock) -> None:
    def act(app: Duetime) -> Awaitable[object]:
        return app.jobs.put(NAME, "30 * * * *", payload=Note())

    async with during(durable_url, clock, act) as app:
        job = await app.jobs.get(NAME)
        assert (job.recurrence, job.next_due_at) == ("30 * * * *", at(1.5))
        assert job.last_outcome is Outcome.succeeded


async def test_remove(durable_url: str, clock: FakeClock) -> None:
    async with during(durable_url, clock, lambda app: app.jobs.remove(NAME)) as app:
        [job] = await app.jobs.list(removed=True)
        assert (job.removed, job.next_due_at, job.last_outcome) == (True, None, Outcome.succeeded)
        [run] = await app.jobs.runs(NAME)
        assert run.outcome is Outcome.succeeded
