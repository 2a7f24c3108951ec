"""The retry and timeout of a job count for the runs of its occurrences."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import NAME, clock
from duetime import Context, Duetime, Outcome, Retry, State
from duetime.errors import InvalidArgument, StoreUnavailable, UnreadableJob
from duetime.store.flow import immediate
from duetime.testing import FakeClock

__all__ = ["clock"]

HOURLY = "0 * * * *"


async def outcomes(app: Duetime, name: str = NAME) -> list[Any]:
    """The outcomes of all runs of the newest occurrence, oldest first."""
    [occurrence, *_] = await app.jobs.runs(name)
    return [run.outcome for run in await app.runs(occurrence.action_id)]


class TestRetry:
    async def test_a_job_is_retried_as_it_says(self, app: Duetime, clock: FakeClock) -> None:
        @app.handler(retry=Retry.none())
        async def fail(payload: Note) -> None:
            raise ConnectionError

        job = await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry(delays=[5, 5]))
        assert job.retry == repr(Retry(delays=[5, 5]))
        await app.testing.advance(hours=1, seconds=9)
        assert await outcomes(app) == [Outcome.retried, Outcome.retried]
        await app.testing.advance(1)
        assert await outcomes(app) == [Outcome.retried, Outcome.retried, Outcome.failed]

    async def test_without_one_the_handler_decides(self, app: Duetime, clock: FakeClock) -> None:
        @app.handler(retry=Retry(delays=[5]))
        async def fail(payload: Note) -> None:
            raise ConnectionError

        await app.jobs.put(NAME, HOURLY, payload=Note())
        await app.testing.advance(hours=1, minutes=1)
        assert await outcomes(app) == [Outcome.retried, Outcome.failed]

    async def test_an_edit_counts_from_the_next_run_on(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        @app.handler()
        async def fail(payload: Note) -> None:
            raise ConnectionError

        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry(delays=[60] * 9))
        await app.testing.advance(hours=1)
        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry.none())
        await app.testing.advance(60)
        assert await outcomes(app) == [Outcome.retried, Outcome.failed]

    async def test_which_exceptions_are_retried_stays_with_the_handler(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        @app.handler(retry=Retry(never=(ValueError,)))
        async def fail(payload: Note) -> None:
            raise ValueError

        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry(attempts=9, delay=0))
        await app.testing.advance(hours=1)
        assert await outcomes(app) == [Outcome.failed]

    async def test_other_actions_of_the_kind_keep_the_handlers(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        @app.handler(retry=Retry.none())
        async def fail(payload: Note) -> None:
            raise ConnectionError

        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry(delays=[5, 5]))
        action = await app.schedule(Note())
        await app.testing.drain()
        assert (await app.get(action.id)).state is State.failed


class TestTimeout:
    async def test_a_run_ends_at_the_jobs_timeout(self, real_app: Duetime) -> None:
        @real_app.handler(kind="note", retry=Retry.none())
        async def wait(payload: Note, ctx: Context) -> None:
            assert ctx.deadline is not None
            await asyncio.Event().wait()

        job = await real_app.jobs.put(NAME, HOURLY, payload=Note(), timeout=0.05)
        assert job.timeout == timedelta(seconds=0.05)
        run = await real_app.jobs.trigger(NAME)
        async with real_app.worker():
            ended = await real_app.wait(run, timeout=20)
        assert (ended.state, ended.error) == (State.failed, "TimeoutError: timed out after 0.05 s")

    async def test_it_takes_the_place_of_the_handlers(self, app: Duetime, clock: FakeClock) -> None:
        seen: list[Any] = []

        @app.handler(timeout=60)
        async def look(payload: Note, ctx: Context) -> None:
            assert ctx.deadline is not None
            seen.append(ctx.deadline - clock.now())

        await app.jobs.put(NAME, HOURLY, payload=Note(), timeout=timedelta(hours=2))
        await app.testing.advance(hours=1)
        await app.schedule(Note())
        await app.testing.drain()
        assert seen == [timedelta(hours=2), timedelta(seconds=60)]


class TestUnknown:
    async def test_a_run_whose_job_cannot_be_asked_is_put_off(
        self, memory_app: Duetime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It counts no attempt, and starts once the store answers again."""
        ran: list[float | None] = []

        @memory_app.handler(timeout=60)
        async def look(payload: Note, ctx: Context) -> None:
            ran.append(None if ctx.deadline is None else ctx.attempt)

        await memory_app.jobs.put(NAME, HOURLY, payload=Note(), timeout=5)
        action = await memory_app.jobs.trigger(NAME)
        store = memory_app.store
        with monkeypatch.context() as patched:
            patched.setattr(store, "job_definition", away)
            await memory_app.testing.drain()
        found = await memory_app.get(action.id)
        assert (found.state, found.attempt, ran) == (State.scheduled, 0, [])
        assert found.error is not None
        assert "could not be read" in found.error
        await memory_app.testing.advance(1)
        assert ran == [1]

    async def test_a_job_that_cannot_be_read_leaves_the_handlers(
        self, memory_app: Duetime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        @memory_app.handler()
        async def look(payload: Note) -> None: ...

        await memory_app.jobs.put(NAME, HOURLY, payload=Note(), timeout=5)
        action = await memory_app.jobs.trigger(NAME)
        monkeypatch.setattr(memory_app.store, "job_definition", damaged)
        await memory_app.testing.drain()
        assert (await memory_app.get(action.id)).state is State.succeeded
        assert "the handler's own" in caplog.text


@immediate
def away(name: str) -> None:
    raise StoreUnavailable("the store is away")


@immediate
def damaged(name: str) -> None:
    raise UnreadableJob(name)


class TestDeclared:
    async def test_a_job_of_code_shows_its_own(self, app: Duetime, clock: FakeClock) -> None:
        @app.job(HOURLY, name=NAME, retry=Retry(attempts=7), timeout=timedelta(minutes=3))
        async def report() -> None: ...

        await app.testing.drain()
        job = await app.jobs.get(NAME)
        assert (job.retry, job.timeout) == (repr(Retry(attempts=7)), timedelta(minutes=3))


class TestStored:
    async def test_both_are_kept_until_the_next_put(self, app: Duetime) -> None:
        app.handler()(handle_note)
        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry(4, 2.5), timeout=90)
        job = await app.jobs.get(NAME)
        assert (job.retry, job.timeout) == (repr(Retry(4, 2.5)), timedelta(seconds=90))
        job = await app.jobs.put(NAME, HOURLY, payload=Note())
        assert (job.retry, job.timeout, job.version) == (None, None, 2)

    async def test_the_audit_tells_them(self, app: Duetime) -> None:
        app.handler()(handle_note)
        await app.jobs.put(NAME, HOURLY, payload=Note())
        await app.jobs.put(NAME, HOURLY, payload=Note(), retry=Retry.none(), timeout=90)
        entry = (await app.audit.find(subject=NAME)).items[0]
        assert (entry.before["retry"], entry.before["timeout"]) == (None, None)
        assert (entry.after["retry"], entry.after["timeout"]) == (repr(Retry.none()), 90_000_000)

    async def test_a_job_shows_who_made_and_changed_it(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        app.handler()(handle_note)
        made = await app.jobs.put(NAME, HOURLY, payload=Note(), by="ann")
        assert (made.created_at, made.created_by) == (clock.now(), "ann")
        assert (made.modified_at, made.modified_by, made.app) == (None, None, "duetime")
        begin = clock.now()
        clock.advance(minutes=1)
        job = await app.jobs.pause(NAME, by="bob")
        assert (job.created_at, job.modified_at, job.modified_by) == (begin, clock.now(), "bob")
        assert job.paused_at == clock.now()
        assert (await app.jobs.resume(NAME)).paused_at is None


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("retry", 3),
        ("retry", "Retry(attempts=3)"),
        ("retry", Retry(on=ConnectionError)),
        ("retry", Retry(never=(ValueError,))),
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("timeout", "5m"),
        ("timeout", True),
        ("timeout", timedelta(days=2_000_000)),
    ],
)
async def test_bad_limits_are_refused(memory_app: Duetime, argument: str, value: Any) -> None:
    memory_app.handler()(handle_note)
    with pytest.raises(InvalidArgument) as refused:
        await memory_app.jobs.put(NAME, HOURLY, payload=Note(), **{argument: value})
    assert refused.value.argument == argument
    assert not (await memory_app.jobs.list()).items


async def handle_note(payload: Note) -> None: ...
