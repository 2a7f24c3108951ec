"""Jobs: declared, seeded, ticking, on every store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import MIDNIGHT, at, clock
from duetime import Context, Cron, Duetime, Every, JobState, Misfire, Outcome, Retry, State
from duetime.errors import JobNotFound
from duetime.testing import FakeClock

__all__ = ["clock"]

HOUR = timedelta(hours=1)


def hourly(app: Duetime, **how: Any) -> list[datetime | None]:
    """Declares a job that notes its ticks."""
    ticks: list[datetime | None] = []

    @app.job("0 * * * *", name="shop-report", **how)
    async def report(ctx: Context) -> None:
        ticks.append(ctx.tick)

    return ticks


async def seeded(app: Duetime) -> None:
    """As a worker does that starts."""
    await app.testing.drain()


class TestTicks:
    async def test_each_tick_is_one_action_at_its_time(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ticks = hourly(app)
        assert await app.testing.advance(hours=3) == 3
        assert ticks == [at(1), at(2), at(3)]
        runs = await app.jobs.runs("shop-report")
        assert [run.tick for run in runs] == [at(3), at(2), at(1)]
        assert {(run.outcome, run.started_by, run.retries) for run in runs} == {
            (Outcome.succeeded, "system", 0)
        }
        assert {run.late_by for run in runs} == {timedelta(0)}

    async def test_the_action_knows_its_job_and_tick(self, app: Duetime) -> None:
        hourly(app)
        await app.testing.advance(hours=1)
        [run] = await app.jobs.runs("shop-report")
        action = await app.get(run.action_id)
        assert (action.job, action.tick, action.kind) == ("shop-report", at(1), "shop-report")
        assert (action.payload, action.state) == (None, State.succeeded)

    async def test_a_job_shows_its_fields(self, app: Duetime) -> None:
        hourly(app, priority="high", queue="reports", tz="Europe/Paris")
        await app.testing.advance(hours=1)
        job = await app.jobs.get("shop-report")
        assert (job.name, job.kind, job.recurrence) == ("shop-report", "shop-report", "0 * * * *")
        assert (job.tz, job.queue, job.priority) == ("Europe/Paris", "reports", "high")
        assert (job.state, job.enabled, job.next_due_at) == (JobState.scheduled, True, at(2))
        assert (job.last_outcome, job.last_finished_at) == (Outcome.succeeded, at(1))
        assert (job.consecutive_failures, job.last_error, job.dead_letters) == (0, None, 0)
        assert (job.misfire, job.overlap, job.version, job.tenant) == ("once", "skip", 1, None)

    async def test_a_payload_goes_with_every_tick(self, app: Duetime) -> None:
        got: list[Note] = []

        @app.job(Every(minutes=30), name="shop-mail", payload=Note("hourly"))
        def mail(note: Note) -> None:
            got.append(note)

        await app.testing.advance(hours=1)
        assert got == [Note("hourly")] * 2
        assert (await app.jobs.get("shop-mail")).payload == Note("hourly")

    async def test_two_jobs_may_take_the_same_type(self, app: Duetime) -> None:
        got: list[str] = []
        for name in ("shop-one", "shop-two"):

            @app.job(Every(hours=1), name=name, payload=Note(name))
            def mail(note: Note) -> None:
                got.append(note.text)

        await app.testing.advance(hours=1)
        assert sorted(got) == ["shop-one", "shop-two"]

    async def test_jitter_delays_the_run_and_keeps_the_tick(self, app: Duetime) -> None:
        hourly(app, jitter=timedelta(minutes=10))
        await app.testing.advance(hours=4)
        runs = await app.jobs.runs("shop-report")
        late = [run.late_by for run in runs if run.late_by is not None]
        assert [run.tick for run in runs] == [at(3), at(2), at(1)] or len(runs) == 4
        assert all(timedelta(0) <= item < timedelta(minutes=10) for item in late)
        assert len({*late}) > 1

    async def test_a_tenant_of_its_own(self, app: Duetime) -> None:
        seen: list[str | None] = []

        @app.job("0 * * * *", name="shop-report", tenant="acme")
        async def report(ctx: Context) -> None:
            seen.append(ctx.tenant)

        await app.testing.advance(hours=1)
        assert seen == ["acme"]
        with pytest.raises(JobNotFound):
            await app.jobs.get("shop-report")
        assert (await app.jobs.get("shop-report", tenant="acme")).tenant == "acme"

    async def test_unions_and_exclusions(self, app: Duetime) -> None:
        ticks: list[datetime | None] = []
        rule = (Cron("0 9 * * *") | Cron("30 12 * * *")) - [MIDNIGHT.date()]

        @app.job(rule, name="shop-report")
        async def report(ctx: Context) -> None:
            ticks.append(ctx.tick)

        await app.testing.advance(days=2)
        assert ticks == [at(24 + 9), at(24 + 12.5)]

    async def test_a_list_of_instants_ends(self, app: Duetime) -> None:
        ticks: list[datetime | None] = []

        @app.job([at(1), at(5)], name="shop-report")
        async def report(ctx: Context) -> None:
            ticks.append(ctx.tick)

        await app.testing.advance(days=1)
        assert ticks == [at(1), at(5)]
        assert (await app.jobs.get("shop-report")).next_due_at is None


class TestMisfires:
    """Ticks whose instant passed while nothing could run them."""

    @pytest.mark.parametrize(
        ("misfire", "run"),
        [
            ("skip", []),
            ("once", [at(5)]),
            (Misfire.all(), [at(1), at(2), at(3), at(4), at(5)]),
            (Misfire.all(limit=2), [at(4), at(5)]),
            (Misfire.all(window=2 * HOUR), [at(4), at(5)]),
        ],
    )
    async def test_the_policy_decides(
        self, app: Duetime, clock: FakeClock, misfire: Any, run: list[datetime]
    ) -> None:
        ticks = hourly(app, misfire=misfire)
        await seeded(app)
        clock.advance(hours=5, minutes=30)
        await app.testing.drain()
        assert ticks == run
        runs = await app.jobs.runs("shop-report")
        assert sorted(run.tick for run in runs if run.tick) == [at(n) for n in range(1, 6)]
        skipped = [item for item in runs if item.tick not in run]
        assert {item.outcome for item in skipped} <= {Outcome.skipped}
        assert all("misfired" in str(item.error) for item in skipped)
        assert {item.state for item in skipped} <= {State.cancelled}

    async def test_a_tick_found_a_little_late_just_runs_late(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ticks = hourly(app, misfire="skip")
        await seeded(app)
        clock.advance(hours=1, seconds=10)
        await app.testing.drain()
        assert ticks == [at(1)]
        [run] = await app.jobs.runs("shop-report")
        assert run.late_by == timedelta(seconds=10)

    async def test_a_year_of_missed_seconds_costs_little(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ran: list[datetime | None] = []

        @app.job(Every(seconds=1), name="shop-poll", misfire="skip")
        async def poll(ctx: Context) -> None:
            ran.append(ctx.tick)

        await seeded(app)
        clock.advance(days=365)
        await app.testing.drain()
        newest = (await app.jobs.runs("shop-poll", limit=200))[-1]
        assert newest.tick == MIDNIGHT + timedelta(seconds=1)
        assert "more than" in str(newest.error)


def failing(app: Duetime, until: Callable[[int], bool], **how: Any) -> list[int]:
    runs: list[int] = []

    @app.job("0 * * * *", name="shop-report", **({"retry": Retry.none()} | how))
    async def report(ctx: Context) -> None:
        runs.append(len(runs))
        if until(len(runs)):
            raise RuntimeError(f"run {len(runs)}")

    return runs


class TestFailing:
    async def test_ticks_are_counted_until_a_success(self, app: Duetime) -> None:
        failing(app, lambda n: n != 3)
        await app.testing.advance(hours=2)
        job = await app.jobs.get("shop-report")
        assert (job.consecutive_failures, job.dead_letters) == (2, 2)
        assert (job.last_outcome, job.last_error) == (Outcome.failed, "RuntimeError: run 2")
        await app.testing.advance(hours=1)
        job = await app.jobs.get("shop-report")
        assert (job.consecutive_failures, job.last_error, job.dead_letters) == (0, None, 2)

    async def test_attempts_are_not_ticks(self, app: Duetime) -> None:
        failing(app, lambda n: True, retry=Retry(delays=[1, 1]))
        await app.testing.advance(hours=1.5)
        job = await app.jobs.get("shop-report")
        assert job.consecutive_failures == 1
        [run] = await app.jobs.runs("shop-report")
        assert (run.retries, run.outcome) == (2, Outcome.failed)

    async def test_a_long_error_is_cut(self, app: Duetime) -> None:
        @app.job("0 * * * *", name="shop-report", retry=Retry.none())
        def report() -> None:
            raise RuntimeError("x" * 1000)

        await app.testing.advance(hours=1)
        error = (await app.jobs.get("shop-report")).last_error
        assert error is not None
        assert error.endswith("[truncated]")
        assert len(error) <= 520
