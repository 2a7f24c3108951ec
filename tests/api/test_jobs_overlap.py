"""Triggers, and ticks that find an occurrence unfinished."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.hourly_job import NAME, at, clock, ticks
from duetime import Context, Duetime, Every, JobState, Misfire, Outcome, State
from duetime.api.arguments import OverlapArgument
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock

__all__ = ["clock", "ticks"]


class TestTrigger:
    async def test_it_runs_once_and_the_schedule_stays(
        self, app: Duetime, ticks: list[Any]
    ) -> None:
        await app.testing.drain()
        action = await app.jobs.trigger(NAME, by="ann")
        assert (action.job, action.tick, action.kind) == (NAME, None, NAME)
        await app.testing.advance(hours=1)
        assert ticks == ["ann", at(1)]
        triggered = (await app.jobs.runs(NAME))[-1]
        assert (triggered.tick, triggered.started_by) == (None, "ann")

    async def test_also_while_it_is_paused(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.drain()
        await app.jobs.pause(NAME)
        await app.jobs.trigger(NAME, by="ann")
        await app.testing.advance(hours=2)
        assert ticks == ["ann"]
        assert (await app.jobs.get(NAME)).state is JobState.paused

    async def test_a_pause_does_not_take_it_away(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.drain()
        await app.jobs.trigger(NAME, by="ann")
        await app.jobs.pause(NAME)
        await app.testing.drain()
        assert ticks == ["ann"]


async def test_triggers_while_it_runs_wait_for_their_turn(real_app: Duetime) -> None:
    """Each starts when the one before has ended; none is lost."""
    running, most, began, go = [0], [0], asyncio.Event(), asyncio.Event()

    @real_app.job(Every(days=300), name=NAME)
    async def report(ctx: Context) -> str | None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        began.set()
        await go.wait()
        running[0] -= 1
        return ctx.triggered_by

    async with real_app.worker():
        first = await real_app.jobs.trigger(NAME, by="first")
        await asyncio.wait_for(began.wait(), 20)
        assert (await real_app.jobs.get(NAME)).state is JobState.running
        others = [await real_app.jobs.trigger(NAME, by=f"other {n}") for n in range(3)]
        go.set()
        ended = [await real_app.wait(other.id, timeout=20) for other in (first, *others)]
    assert [item.result for item in ended] == ["first", "other 0", "other 1", "other 2"]
    assert most == [1]


async def test_with_overlap_allowed_they_run_at_once(real_app: Duetime) -> None:
    both = asyncio.Barrier(2)

    @real_app.job(Every(days=300), name=NAME, overlap="allow")
    async def report() -> None:
        await both.wait()

    async with real_app.worker():
        actions = [await real_app.jobs.trigger(NAME) for _ in range(2)]
        ended = [await real_app.wait(action.id, timeout=20) for action in actions]
    assert {item.state for item in ended} == {State.succeeded}


async def test_triggers_may_come_from_machines_with_different_clocks(
    real_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first id is of a machine whose clock is an hour ahead; still each waits for the last."""
    running, most, go = [0], [0], asyncio.Event()

    @real_app.job(Every(days=300), name=NAME)
    async def report() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await go.wait()
        running[0] -= 1

    client: Any = real_app.jobs
    own = client._verbs._new_id
    ahead = TimeOrderedIds(FakeClock(datetime.now(UTC) + timedelta(hours=1)))
    async with real_app.worker():
        actions = []
        for new_id in (ahead, own, own):
            monkeypatch.setattr(client._verbs, "_new_id", new_id)
            actions.append(await real_app.jobs.trigger(NAME))
        assert [action.after for action in actions] == [None, actions[0].id, actions[1].id]
        go.set()
        for action in actions:
            await real_app.wait(action.id, timeout=20)
    assert most == [1]


class TestOverlap:
    """A tick that finds an occurrence unfinished."""

    @pytest.mark.parametrize(
        ("overlap", "ran"), [("skip", [1]), ("queue", [1, 2]), ("allow", [1, 2, 3])]
    )
    async def test_the_policy_decides(
        self, app: Duetime, clock: FakeClock, overlap: OverlapArgument, ran: list[int]
    ) -> None:
        seen: list[datetime | None] = []

        @app.job("0 * * * *", name=NAME, overlap=overlap, jitter=timedelta(hours=20))
        async def report(ctx: Context) -> None:
            seen.append(ctx.tick)

        await app.testing.drain()
        for hour in (1, 2, 3):
            clock.set(at(hour))
            await app.testing.drain()
        await app.jobs.pause(NAME, until=at(100))
        runs = (await app.jobs.runs(NAME))[::-1]
        skipped = [run.tick for run in runs if run.outcome is Outcome.skipped]
        assert skipped == [at(hour) for hour in (1, 2, 3) if hour not in ran]
        reasons = [str(run.error) for run in runs if run.outcome is Outcome.skipped]
        assert all("unfinished" in reason for reason in reasons)

    async def test_made_up_ticks_run_one_after_another(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        order: list[tuple[str, datetime | None]] = []

        @app.job("0 * * * *", name=NAME, misfire=Misfire.all())
        async def report(ctx: Context) -> None:
            order.append(("begins", ctx.tick))
            await asyncio.sleep(0)
            order.append(("ends", ctx.tick))

        await app.testing.drain()
        clock.advance(hours=3, minutes=30)
        await app.testing.drain()
        expected = [(what, at(hour)) for hour in (1, 2, 3) for what in ("begins", "ends")]
        assert order == expected


@pytest.mark.parametrize("act", ["cancel", "pause"])
async def test_what_waits_behind_a_cancelled_occurrence_goes_on_waiting(
    real_app: Duetime, act: str
) -> None:
    """A runs, B waits for A, C for B; B is cancelled."""
    began, go = asyncio.Event(), asyncio.Event()
    running, most = [0], [0]

    @real_app.job(Every(days=300), name=NAME, overlap="queue")
    async def report() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        began.set()
        await go.wait()
        running[0] -= 1

    async with real_app.worker():
        runs = await real_app.jobs.trigger(NAME)
        await asyncio.wait_for(began.wait(), 20)
        end = datetime.now(UTC)
        if act == "pause":
            await real_app.jobs.backfill(NAME, end - timedelta(days=310), end, dry_run=False)
            [waits] = [
                action for action in await real_app.find(kind=NAME) if action.tick is not None
            ]
        else:
            waits = await real_app.jobs.trigger(NAME)
        behind = await real_app.jobs.trigger(NAME)
        assert (waits.after, behind.after) == (runs.id, waits.id)
        await (real_app.cancel(waits.id) if act == "cancel" else real_app.jobs.pause(NAME))
        after = await real_app.get(behind.id)
        assert (after.after, after.waits) == (runs.id, True)
        go.set()
        await real_app.wait(behind.id, timeout=20)
    assert most == [1]


async def test_a_retried_occurrence_waits_for_what_runs(real_app: Duetime) -> None:
    fail, began, go = [True], asyncio.Event(), asyncio.Event()

    @real_app.job(Every(days=300), name=NAME)
    async def report() -> None:
        if fail[0]:
            raise ValueError("not today")
        began.set()
        await go.wait()

    async with real_app.worker():
        failed = await real_app.jobs.trigger(NAME)
        await real_app.wait(failed.id, timeout=20)
        fail[0] = False
        runs = await real_app.jobs.trigger(NAME)
        await asyncio.wait_for(began.wait(), 20)
        retried = await real_app.retry(failed.id)
        assert (retried.state, retried.after) == (State.scheduled, runs.id)
        go.set()
        ended = await real_app.wait(failed.id, timeout=20)
    assert ended.state is State.succeeded


class TestWaitingTrigger:
    async def test_it_runs_when_what_it_waits_for_is_cancelled(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        seen: list[str | None] = []

        @app.job("0 * * * *", name=NAME, jitter=3000)
        async def report(ctx: Context) -> None:
            seen.append(ctx.triggered_by)

        await app.testing.drain()
        clock.set(at(1))
        await app.testing.drain()
        trigger = await app.jobs.trigger(NAME, by="ann")
        assert trigger.waits
        await app.jobs.pause(NAME)
        await app.testing.drain()
        assert seen == ["ann"]
