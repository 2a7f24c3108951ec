"""What people do to jobs: pause, resume, remove, restore, put, backfill."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import NAME, at, clock, nothing, ticks
from duetime import (
    ANY,
    Duetime,
    Every,
    JobFailing,
    JobPaused,
    JobState,
    Outcome,
    Retry,
    State,
)
from duetime.errors import ConfigError, InvalidArgument, JobNameTaken, JobNotFound, StaleVersion
from duetime.testing import FakeClock
from polling import until

__all__ = ["clock", "ticks"]


@dataclass(frozen=True)
class Mail:
    text: str


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
        self, durable_url: str, clock: FakeClock
    ) -> None:
        for rule in ("0 * * * *", "30 * * * *"):
            app = Duetime(durable_url, clock=clock)
            app.job(rule, name=NAME)(nothing)
            async with app:
                await app.testing.advance(hours=1)
                if rule.startswith("0"):
                    await app.jobs.pause(NAME, by="ann", note="audit")
                job = await app.jobs.get(NAME)
                assert (job.recurrence, job.state, job.pause_note) == (rule, "paused", "audit")


class TestPutAgain:
    """Over one that was removed."""

    async def test_it_begins_anew(self, app: Duetime) -> None:
        @app.handler(retry=Retry.none())
        def note(payload: Note) -> None:
            raise RuntimeError("no")

        await app.jobs.put(NAME, "0 * * * *", payload=Note())
        await app.testing.advance(hours=2)
        await app.jobs.pause(NAME, by="ann")
        assert (await app.jobs.get(NAME)).consecutive_failures == 2
        await app.jobs.remove(NAME)
        job = await app.jobs.put(NAME, "0 * * * *", payload=Note(), version=0)
        assert (job.enabled, job.next_due_at, job.paused_by) == (True, at(3), None)
        assert (job.consecutive_failures, job.last_error) == (0, None)
        with pytest.raises(StaleVersion):
            await app.jobs.put(NAME, "30 * * * *", payload=Note(), version=0)
        assert len(await app.jobs.runs(NAME)) == 2


async def test_a_put_job_that_a_wrong_clock_armed_comes_back(
    durable_url: str, clock: FakeClock
) -> None:
    ran = asyncio.Event()
    async with Duetime(durable_url, clock=clock, sweep=0.05) as app:

        @app.handler(kind="note")
        def note(payload: Note) -> None:
            ran.set()

        async def rearmed() -> bool:
            return (await app.jobs.get(NAME)).next_due_at == at(1)

        clock.advance(days=3650)
        await app.jobs.put(NAME, "0 * * * *", payload=Note())
        clock.set(at(0))
        async with app.worker():
            await until(rearmed)
            clock.set(at(1))
            await asyncio.wait_for(ran.wait(), 20)


async def test_a_failed_tick_that_is_retried_by_hand_is_counted_once(app: Duetime) -> None:
    @app.job("0 * * * *", name=NAME, retry=Retry.none(), alert_after=2)
    def report() -> None:
        raise RuntimeError("no")

    failing: list[object] = []
    app.on(JobFailing, failing.append)
    await app.testing.advance(hours=1)
    [run] = await app.jobs.runs(NAME)
    for _ in range(3):
        await app.retry(run.action_id)
        await app.testing.drain()
    assert (await app.jobs.get(NAME)).consecutive_failures == 1
    assert failing == []
    await app.testing.advance(hours=1)
    assert (await app.jobs.get(NAME)).consecutive_failures == 2
    assert len(failing) == 1


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
    async def test_nothing_is_done_to_a_job_that_is_not_there(
        self, app: Duetime, verb: str
    ) -> None:
        with pytest.raises(JobNotFound, match="shop-nothing"):
            await getattr(app.jobs, verb)("shop-nothing")

    async def test_restore_and_runs_of_a_job_that_never_was(self, app: Duetime) -> None:
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
        with pytest.raises(JobNameTaken, match="choose another one"):
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
        # Not at the instant of a tick: of what was made at one, no order is promised.
        await app.testing.advance(hours=2, minutes=1)
        start, end = at(-3), at(2)
        missing = [at(-3), at(-2), at(-1), at(0)]
        assert await app.jobs.backfill(NAME, start, end) == missing
        assert ticks == [at(1), at(2)]
        assert await app.jobs.backfill(NAME, start, end, dry_run=False, by="ann") == missing
        assert await app.jobs.backfill(NAME, start, end, dry_run=False) == []
        await app.testing.drain()
        assert ticks == [at(1), at(2), *missing]
        assert {run.started_by for run in (await app.jobs.runs(NAME))[:4]} == {"ann"}

    @pytest.mark.parametrize(
        ("start", "end", "said"),
        [
            (at(-1), at(-2), "after start"),
            (at(-1), at(5), "end must not be in the future"),
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


async def test_a_preview_returns_the_next_ticks(app: Duetime, ticks: list[Any]) -> None:
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
    assert await acts(app) == [
        ("pause", "ann"),
        ("resume", "bob"),
        ("trigger", "cid"),
        ("remove", "dan"),
        ("restore", "eve"),
    ]


async def test_an_act_that_changes_nothing_leaves_no_audit_entry(app: Duetime) -> None:
    app.payload(Mail, kind="mail")
    await app.jobs.put(NAME, "0 * * * *", payload=Mail("a"), by="ann")
    before, audited = await app.jobs.get(NAME), await acts(app)
    assert audited == [("put", "ann")]
    await app.jobs.put(NAME, "0 * * * *", payload=Mail("a"), by="bob")
    await app.jobs.resume(NAME, by="bob")
    await app.jobs.restore(NAME, by="bob")
    await app.jobs.backfill(NAME, at(-1), at(-0.5), by="bob")
    assert (await app.jobs.get(NAME), await acts(app)) == (before, audited)


async def test_who_pauses_again_is_the_one_who_paused(app: Duetime, ticks: list[Any]) -> None:
    await app.testing.drain()
    pauses: list[JobPaused] = []
    app.on(JobPaused, pauses.append)
    for actor, note in [("ann", "why"), ("ann", "why"), ("bob", "why"), ("bob", "so")]:
        await app.testing.advance(seconds=1)
        job = await app.jobs.pause(NAME, by=actor, note=note)
        assert (job.paused_by, job.pause_note, job.state) == (actor, note, JobState.paused)
    assert await acts(app) == [("pause", "ann"), ("pause", "bob"), ("pause", "bob")]
    newest = ((await app.audit.find(subject=NAME, limit=10, tenant=ANY)).items)[0]
    assert (newest.before["paused_by"], newest.before["pause_note"]) == ("bob", "why")
    assert (newest.after["paused_by"], newest.after["pause_note"]) == ("bob", "so")
    assert [(pause.by, pause.note) for pause in pauses] == [
        ("ann", "why"),
        ("bob", "why"),
        ("bob", "so"),
    ]


async def acts(app: Duetime) -> list[tuple[str, str]]:
    """The verbs and actors of the audit log, oldest first."""
    audited = (await app.audit.find(subject=NAME, limit=10, tenant=ANY)).items
    return [(entry.verb, entry.by) for entry in reversed(audited)]


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
