"""What people do to jobs: pause, resume, trigger, remove, restore, put, backfill."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note
from duetime import (
    ANY,
    Context,
    Duetime,
    Every,
    JobFailing,
    JobPaused,
    JobRecovered,
    JobResumed,
    JobState,
    Misfire,
    Outcome,
    Retry,
    State,
)
from duetime.errors import ConfigError, InvalidArgument, JobNotFound, StaleVersion
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)
NAME = "shop-report"


@dataclass(frozen=True)
class Mail:
    text: str


def at(hours: float) -> datetime:
    return MIDNIGHT + timedelta(hours=hours)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(MIDNIGHT)


@pytest.fixture
def ticks(app: Duetime) -> list[Any]:
    """The ticks, or who triggered them, of a job that runs every hour."""
    seen: list[Any] = []

    @app.job("0 * * * *", name=NAME)
    async def report(ctx: Context) -> None:
        seen.append(ctx.tick or ctx.triggered_by)

    return seen


class TestPause:
    async def test_no_tick_comes_and_none_is_made_up(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.advance(hours=1)
        job = await app.jobs.pause(NAME, by="ann", note="audit")
        assert (job.state, job.enabled, job.next_due_at) == (JobState.paused, False, None)
        assert (job.paused_by, job.pause_note) == ("ann", "audit")
        await app.testing.advance(hours=3)
        job = await app.jobs.resume(NAME, by="bob")
        assert (job.state, job.enabled, job.next_due_at) == (JobState.scheduled, True, at(5))
        assert (job.paused_by, job.pause_note) == (None, None)
        await app.testing.advance(hours=1)
        assert ticks == [at(1), at(5)]

    async def test_it_ends_by_itself(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.drain()
        job = await app.jobs.pause(NAME, until=at(3))
        assert (job.enabled, job.paused_until, job.next_due_at) == (False, at(3), at(3))
        await app.testing.advance(hours=4)
        job = await app.jobs.get(NAME)
        assert (job.enabled, job.paused_until, job.state) == (True, None, JobState.scheduled)
        assert ticks == [at(3), at(4)]

    async def test_an_occurrence_that_waits_is_cancelled(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ran: list[object] = []

        @app.job("0 * * * *", name=NAME, jitter=3000)
        def report() -> None:
            ran.append(1)

        await app.testing.drain()
        clock.set(at(1))
        await app.testing.drain()
        [waiting] = await app.jobs.runs(NAME)
        assert (waiting.state, waiting.started_at) == (State.scheduled, None)
        await app.jobs.pause(NAME, by="ann")
        await app.testing.advance(hours=2)
        [run] = await app.jobs.runs(NAME)
        assert (run.action_id, run.outcome, ran) == (waiting.action_id, Outcome.cancelled, [])
        assert (await app.get(run.action_id)).cancelled_by == "ann"

    async def test_resume_is_idempotent(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.drain()
        before = await app.jobs.get(NAME)
        assert await app.jobs.resume(NAME) == before
        await app.jobs.pause(NAME)
        first = await app.jobs.resume(NAME)
        assert await app.jobs.resume(NAME) == first

    async def test_it_survives_a_restart_and_a_changed_rule(
        self, url: str, clock: FakeClock
    ) -> None:
        if url == "memory://":
            pytest.skip("a store in memory does not survive its process")
        for rule in ("0 * * * *", "30 * * * *"):
            app = Duetime(url, clock=clock)
            app.job(rule, name=NAME)(nothing)
            async with app:
                await app.testing.advance(hours=1)
                if rule.startswith("0"):
                    await app.jobs.pause(NAME, by="ann", note="audit")
                job = await app.jobs.get(NAME)
                assert (job.recurrence, job.state, job.pause_note) == (rule, "paused", "audit")


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
        ended = [await real_app.wait(one.id, timeout=20) for one in (first, *others)]
    assert [one.result for one in ended] == ["first", "other 0", "other 1", "other 2"]
    assert most == [1]


async def test_with_overlap_allowed_they_run_at_once(real_app: Duetime) -> None:
    both = asyncio.Barrier(2)

    @real_app.job(Every(days=300), name=NAME, overlap="allow")
    async def report() -> None:
        await both.wait()

    async with real_app.worker():
        actions = [await real_app.jobs.trigger(NAME) for _ in range(2)]
        ended = [await real_app.wait(one.id, timeout=20) for one in actions]
    assert {one.state for one in ended} == {State.succeeded}


async def test_whoever_triggers_has_a_clock_of_their_own(
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
    own = client._client._new_id
    ahead = TimeOrderedIds(FakeClock(datetime.now(UTC) + timedelta(hours=1)))
    async with real_app.worker():
        actions = []
        for new_id in (ahead, own, own):
            monkeypatch.setattr(client._client, "_new_id", new_id)
            actions.append(await real_app.jobs.trigger(NAME))
        assert [one.after for one in actions] == [None, actions[0].id, actions[1].id]
        go.set()
        for one in actions:
            await real_app.wait(one.id, timeout=20)
    assert most == [1]


class TestOverlap:
    """A tick that finds an occurrence unfinished."""

    @pytest.mark.parametrize(
        ("overlap", "ran"), [("skip", [1]), ("queue", [1, 2]), ("allow", [1, 2, 3])]
    )
    async def test_the_policy_decides(
        self, app: Duetime, clock: FakeClock, overlap: str, ran: list[int]
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
        skipped = [one.tick for one in runs if one.outcome is Outcome.skipped]
        assert skipped == [at(hour) for hour in (1, 2, 3) if hour not in ran]
        reasons = [str(one.error) for one in runs if one.outcome is Outcome.skipped]
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


class TestRemove:
    async def test_it_is_gone_until_it_is_restored(self, app: Duetime, ticks: list[Any]) -> None:
        await app.testing.advance(hours=1)
        await app.jobs.remove(NAME, by="ann")
        with pytest.raises(JobNotFound):
            await app.jobs.get(NAME)
        assert [job.name for job in await app.jobs.list()] == []
        [gone] = await app.jobs.list(removed=True)
        assert (gone.name, gone.removed, gone.next_due_at) == (NAME, True, None)
        await app.testing.advance(hours=2)
        assert ticks == [at(1)]
        assert len(await app.jobs.runs(NAME)) == 1
        job = await app.jobs.restore(NAME, by="ann")
        assert (job.removed, job.next_due_at) == (False, at(4))
        await app.testing.advance(hours=1)
        assert ticks == [at(1), at(4)]

    @pytest.mark.parametrize("verb", ["get", "pause", "resume", "trigger", "remove", "preview"])
    async def test_nothing_is_done_to_one_that_is_not_there(self, app: Duetime, verb: str) -> None:
        with pytest.raises(JobNotFound, match="shop-nothing"):
            await getattr(app.jobs, verb)("shop-nothing")

    async def test_restore_and_runs_of_one_that_never_was(self, app: Duetime) -> None:
        for verb in (app.jobs.restore, app.jobs.runs):
            with pytest.raises(JobNotFound):
                await verb("shop-nothing")


class TestPut:
    async def test_a_job_made_at_run_time_survives(self, app: Duetime, clock: FakeClock) -> None:
        got: list[Note] = []

        @app.handler(kind="mail")
        async def mail(note: Mail) -> None:
            got.append(Note(note.text))

        job = await app.jobs.put("shop-mail", Every(hours=1), payload=Mail("put"), by="ann")
        assert (job.kind, job.declared, job.version) == ("mail", False, 1)
        await app.testing.advance(hours=2)
        assert got == [Note("put")] * 2
        changed = await app.jobs.put(
            "shop-mail", "30 * * * *", payload=Mail("changed"), version=job.version
        )
        assert (changed.version, changed.next_due_at) == (2, at(2.5))
        with pytest.raises(StaleVersion, match="version 2"):
            await app.jobs.put("shop-mail", "0 * * * *", payload=Mail("stale"), version=1)
        assert (await app.jobs.get("shop-mail")).recurrence == "30 * * * *"

    async def test_the_job_of_another_tenant_is_not_taken_over(self, app: Duetime) -> None:
        app.payload(Mail, kind="mail")
        await app.jobs.put("shop-mail", Every(hours=1), payload=Mail("a"), tenant="a")
        with pytest.raises(ConfigError, match="choose another name"):
            await app.jobs.put("shop-mail", Every(hours=2), payload=Mail("b"), tenant="b")

    async def test_what_code_declares_is_changed_in_code(
        self, app: Duetime, ticks: list[Any]
    ) -> None:
        with pytest.raises(ConfigError, match="declared in code"):
            await app.jobs.put(NAME, "0 * * * *", payload=Note())


class TestBackfill:
    async def test_ticks_that_no_occurrence_was_made_of(
        self, app: Duetime, ticks: list[Any]
    ) -> None:
        await app.testing.advance(hours=2)
        start, end = at(-3), at(2)
        missing = [at(-3), at(-2), at(-1), at(0)]
        assert await app.jobs.backfill(NAME, start, end) == missing
        assert ticks == [at(1), at(2)]
        assert await app.jobs.backfill(NAME, start, end, dry_run=False, by="ann") == missing
        assert await app.jobs.backfill(NAME, start, end, dry_run=False) == []
        await app.testing.drain()
        assert ticks == [at(1), at(2), *missing]
        assert {one.started_by for one in (await app.jobs.runs(NAME))[:4]} == {"ann"}

    @pytest.mark.parametrize(
        ("start", "end", "said"),
        [
            (at(-1), at(-2), "after start"),
            (at(-1), at(5), "not come yet"),
            (at(-10_000_000 / 3600), at(0), "more than 1000"),
        ],
    )
    async def test_a_range_that_cannot_be(
        self, app: Duetime, start: datetime, end: datetime, said: str
    ) -> None:
        app.job(Every(seconds=1), name=NAME)(nothing)
        await app.testing.drain()
        with pytest.raises(InvalidArgument, match=said):
            await app.jobs.backfill(NAME, start, end, dry_run=False)


async def test_a_preview_tells_the_next_ticks(app: Duetime, ticks: list[Any]) -> None:
    await app.testing.drain()
    await app.jobs.pause(NAME)
    assert await app.jobs.preview(NAME, 3) == [at(1), at(2), at(3)]


async def test_pages_of_jobs(app: Duetime) -> None:
    for n in range(5):
        app.job("0 * * * *", name=f"shop-{n}")(nothing)
    await app.testing.drain()
    first = await app.jobs.list(limit=3)
    rest = await app.jobs.list(limit=3, cursor=first.next_cursor)
    assert [job.name for job in (*first, *rest)] == [f"shop-{n}" for n in range(5)]
    assert rest.next_cursor is None


async def test_every_act_is_audited(app: Duetime, ticks: list[Any]) -> None:
    await app.testing.drain()
    await app.jobs.pause(NAME, by="ann", note="why")
    await app.jobs.resume(NAME, by="bob")
    await app.jobs.trigger(NAME, by="cid")
    await app.jobs.remove(NAME, by="dan")
    await app.jobs.restore(NAME, by="eve")
    audited = await app.store.perform(app.store.audit(NAME, 10))
    assert [(entry.verb, entry.by) for entry in reversed(audited)] == [
        ("pause", "ann"),
        ("resume", "bob"),
        ("trigger", "cid"),
        ("remove", "dan"),
        ("restore", "eve"),
    ]


async def test_every_verb_blocks_too(app: Duetime, ticks: list[Any]) -> None:
    await app.testing.drain()
    jobs = app.sync.jobs
    assert jobs.pause(NAME, by="ann").state is JobState.paused
    assert jobs.get(NAME).paused_by == "ann"
    assert jobs.resume(NAME).state is JobState.scheduled
    assert jobs.trigger(NAME).job == NAME
    assert [job.name for job in jobs.list(tenant=ANY)] == [NAME]
    assert len(jobs.runs(NAME)) == 1
    assert jobs.preview(NAME, 1) == [at(1)]
    jobs.remove(NAME)
    assert jobs.restore(NAME).removed is False


class TestEvents:
    async def test_pausing_and_resuming_are_told_once(self, app: Duetime, ticks: list[Any]) -> None:
        told: list[Any] = []
        for event in (JobPaused, JobResumed):
            app.on(event, told.append)
        await app.testing.drain()
        await app.jobs.pause(NAME, by="ann", note="audit", until=at(9))
        await app.jobs.pause(NAME, by="bob", note="audit", until=at(9))
        await app.jobs.resume(NAME, by="cid")
        await app.jobs.resume(NAME, by="cid")
        assert told == [
            JobPaused(job=NAME, tenant=None, by="ann", note="audit", until=at(9)),
            JobResumed(job=NAME, tenant=None, by="cid"),
        ]

    async def test_so_is_a_pause_that_ends_by_itself(self, app: Duetime, ticks: list[Any]) -> None:
        told: list[Any] = []
        app.on(JobResumed, told.append)
        await app.testing.drain()
        await app.jobs.pause(NAME, until=at(2))
        await app.testing.advance(hours=3)
        assert told == [JobResumed(job=NAME, tenant=None, by="system")]

    async def test_a_streak_of_failures_is_told_once_and_so_is_its_end(self, app: Duetime) -> None:
        told: list[Any] = []
        for event in (JobFailing, JobRecovered):
            app.on(event, told.append)
        runs = [0]

        @app.job("0 * * * *", name=NAME, retry=Retry.none(), alert_after=2)
        def report() -> None:
            runs[0] += 1
            if runs[0] < 5:
                raise RuntimeError("no")

        await app.testing.advance(hours=6)
        assert [type(event) for event in told] == [JobFailing, JobRecovered]
        assert told[0] == JobFailing(
            job=NAME, tenant=None, by="system", consecutive_failures=2, error="RuntimeError: no"
        )


def nothing() -> None: ...
