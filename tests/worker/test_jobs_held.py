"""A caller may hold a job for as long as its transaction is open: nobody else waits for it."""

from __future__ import annotations

import asyncio

import psycopg

from awaiting import until
from duetime import Duetime, Occurrence, Outcome
from duetime.testing import FakeClock

NAME = "shop-held"


def nothing() -> None: ...


async def test_a_worker_starts_and_seeds_it_later(postgres_url: str) -> None:
    async with Duetime(postgres_url) as old:
        old.job("0 12 * * *", name=NAME)(nothing)
        async with old.worker():
            pass
        async with Duetime(postgres_url) as new:
            new.job("30 6 * * *", name=NAME)(nothing)
            new.job("30 6 * * *", name="shop-free")(nothing)
            with psycopg.connect(postgres_url) as caller:
                old.sync.jobs.pause(NAME, connection=caller)
                async with new.worker():
                    assert (await new.jobs.get(NAME)).recurrence == "0 12 * * *"
                    assert (await new.jobs.get("shop-free")).enabled
                    caller.commit()
                    await until(lambda: seeded(new))
                    assert not (await new.jobs.get(NAME)).enabled


async def test_a_start_waits_for_whoever_holds_it_only_for_a_moment(postgres_url: str) -> None:
    async with Duetime(postgres_url) as old, Duetime(postgres_url) as new:
        old.job("0 12 * * *", name=NAME)(nothing)
        new.job("30 6 * * *", name=NAME)(nothing)
        async with old.worker():
            pass
        with psycopg.connect(postgres_url) as caller:
            old.sync.jobs.pause(NAME, connection=caller)
            asyncio.get_running_loop().call_later(0.1, caller.commit)
            async with new.worker():
                assert (await new.jobs.get(NAME)).recurrence == "30 6 * * *"


async def test_a_tick_that_is_late_since_it_was_held_is_no_misfire(
    postgres_url: str, clock: FakeClock
) -> None:
    async with Duetime(postgres_url, clock=clock) as app:
        app.job("* * * * *", name=NAME, misfire="skip", overlap="allow")(nothing)
        async with app.worker() as worker:
            with psycopg.connect(postgres_url) as caller:
                trigger = app.sync.jobs.trigger(NAME, connection=caller)
                clock.advance(minutes=1)
                await until(lambda: worker._ticker._held_since is not None)
                clock.advance(seconds=14)
                caller.commit()
            await app.wait(trigger.id, timeout=20)
            await until(lambda: ticks(app))
            [tick] = await ticks(app)
            await app.wait(tick.action_id, timeout=20)
        [tick] = await ticks(app)
        assert tick.outcome is Outcome.succeeded


async def seeded(app: Duetime) -> bool:
    return (await app.jobs.get(NAME)).recurrence == "30 6 * * *"


async def ticks(app: Duetime) -> list[Occurrence]:
    return [one for one in await app.jobs.runs(NAME) if one.tick]
