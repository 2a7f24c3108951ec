"""A caller may lock a job for as long as its transaction is open; others do not wait for it."""

from __future__ import annotations

import asyncio

import psycopg

from duetime import Duetime, Occurrence, Outcome
from duetime.testing import FakeClock
from polling import until

JOB_NAME = "shop-locked"


def nothing() -> None: ...


async def test_a_worker_starts_and_seeds_a_locked_job_later(postgres_url: str) -> None:
    async with Duetime(postgres_url) as old:
        old.job("0 12 * * *", name=JOB_NAME)(nothing)
        async with old.worker():
            pass
        async with Duetime(postgres_url) as new:
            new.job("30 6 * * *", name=JOB_NAME)(nothing)
            new.job("30 6 * * *", name="shop-free")(nothing)
            with psycopg.connect(postgres_url) as caller:
                old.sync.jobs.pause(JOB_NAME, connection=caller)
                async with new.worker():
                    assert (await new.jobs.get(JOB_NAME)).recurrence == "0 12 * * *"
                    assert (await new.jobs.get("shop-free")).enabled
                    caller.commit()
                    await until(lambda: seeded(new))
                    assert not (await new.jobs.get(JOB_NAME)).enabled


async def test_a_start_waits_for_a_locked_job_only_for_a_moment(postgres_url: str) -> None:
    async with Duetime(postgres_url) as old, Duetime(postgres_url) as new:
        old.job("0 12 * * *", name=JOB_NAME)(nothing)
        new.job("30 6 * * *", name=JOB_NAME)(nothing)
        async with old.worker():
            pass
        with psycopg.connect(postgres_url) as caller:
            old.sync.jobs.pause(JOB_NAME, connection=caller)
            asyncio.get_running_loop().call_later(0.1, caller.commit)
            async with new.worker():
                assert (await new.jobs.get(JOB_NAME)).recurrence == "30 6 * * *"


async def test_a_tick_that_is_late_because_of_a_lock_is_no_misfire(
    postgres_url: str, clock: FakeClock
) -> None:
    async with Duetime(postgres_url, clock=clock) as app:
        app.job("* * * * *", name=JOB_NAME, misfire="skip", overlap="allow")(nothing)
        async with app.worker() as worker:
            with psycopg.connect(postgres_url) as caller:
                trigger = app.sync.jobs.trigger(JOB_NAME, connection=caller)
                clock.advance(minutes=1)
                await until(lambda: worker._ticker._locked_since is not None)
                clock.advance(seconds=14)
                caller.commit()
            await app.wait(trigger.id, timeout=20)
            await until(lambda: ticks(app))
            [tick] = await ticks(app)
            await app.wait(tick.action_id, timeout=20)
        [tick] = await ticks(app)
        assert tick.outcome is Outcome.succeeded


async def seeded(app: Duetime) -> bool:
    return (await app.jobs.get(JOB_NAME)).recurrence == "30 6 * * *"


async def ticks(app: Duetime) -> list[Occurrence]:
    return [run for run in await app.jobs.runs(JOB_NAME) if run.tick]
