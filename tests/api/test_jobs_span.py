"""`starts_at`, `ends_at` and `misfire_after` of a job."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import MIDNIGHT, NAME, at, clock
from duetime import Context, Duetime, JobState, Misfire, Outcome
from duetime.errors import InvalidArgument, InvalidRecurrence, NaiveDatetime
from duetime.model.jobs.change import FoundJob, JobChange
from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.selectors import ByName
from duetime.model.jobs.serialize import of_text, to_text
from duetime.testing import FakeClock

__all__ = ["clock"]

NAIVE = datetime(2031, 1, 1)  # noqa: DTZ001 - what is tested


def hourly(app: Duetime, **how: Any) -> list[datetime | None]:
    """Declare an hourly job that notes its ticks."""
    ticks: list[datetime | None] = []

    @app.job("0 * * * *", name=NAME, **how)
    async def report(ctx: Context) -> None:
        ticks.append(ctx.tick)

    return ticks


class TestSpan:
    async def test_no_tick_comes_before_the_start(self, app: Duetime) -> None:
        ticks = hourly(app, starts_at=at(2.5))
        await app.testing.drain()
        assert (await app.jobs.get(NAME)).next_due_at == at(3)
        await app.testing.advance(hours=4)
        assert ticks == [at(3), at(4)]

    async def test_no_tick_comes_after_the_end(self, app: Duetime) -> None:
        ticks = hourly(app, ends_at=at(2.5))
        await app.testing.advance(hours=5)
        assert ticks == [at(1), at(2)]

    async def test_both_ends_are_included(self, app: Duetime) -> None:
        ticks = hourly(app, starts_at=at(2), ends_at=at(3))
        await app.testing.advance(hours=5)
        assert ticks == [at(2), at(3)]

    async def test_a_job_that_has_ended_is_scheduled_without_a_next_tick(
        self, app: Duetime
    ) -> None:
        hourly(app, ends_at=at(1))
        await app.testing.advance(hours=2)
        job = await app.jobs.get(NAME)
        assert (job.state, job.enabled, job.next_due_at) == (JobState.scheduled, True, None)
        assert (job.last_outcome, job.consecutive_failures) == (Outcome.succeeded, 0)
        assert await app.jobs.preview(NAME) == []

    async def test_a_job_that_has_ended_can_still_be_triggered(self, app: Duetime) -> None:
        ticks = hourly(app, ends_at=at(1))
        await app.testing.advance(hours=2)
        await app.jobs.trigger(NAME)
        await app.testing.drain()
        assert ticks == [at(1), None]

    async def test_the_job_shows_its_span(self, app: Duetime) -> None:
        hourly(app, starts_at=at(2), ends_at=at(9), misfire_after=timedelta(minutes=5))
        await app.testing.drain()
        job = await app.jobs.get(NAME)
        assert (job.starts_at, job.ends_at) == (at(2), at(9))
        assert job.misfire_after == timedelta(minutes=5)

    async def test_a_plain_job_has_none_of_it(self, app: Duetime) -> None:
        hourly(app)
        await app.testing.drain()
        job = await app.jobs.get(NAME)
        assert (job.starts_at, job.ends_at, job.misfire_after) == (None, None, None)

    async def test_ticks_outside_are_neither_previewed_nor_backfilled(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        hourly(app, starts_at=at(2), ends_at=at(4))
        await app.testing.drain()
        assert await app.jobs.preview(NAME, 9) == [at(2), at(3), at(4)]
        clock.set(at(9))
        await app.testing.drain()
        await app.jobs.backfill(NAME, at(-5), at(9), dry_run=False)
        runs = await app.jobs.runs(NAME)
        assert {run.tick for run in runs} == {at(2), at(3), at(4)}

    async def test_a_tick_missed_at_the_end_of_the_span_is_still_recovered(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ticks = hourly(app, ends_at=at(2))
        await app.testing.drain()
        clock.set(at(9))
        await app.testing.drain()
        assert ticks == [at(2)]
        assert (await app.jobs.get(NAME)).next_due_at is None

    async def test_a_pause_beyond_the_end_leaves_no_tick(self, app: Duetime) -> None:
        hourly(app, ends_at=at(3))
        await app.testing.drain()
        await app.jobs.pause(NAME, until=at(5))
        assert (await app.jobs.get(NAME)).next_due_at is None
        await app.jobs.resume(NAME)
        assert (await app.jobs.get(NAME)).next_due_at == at(1)

    async def test_a_pause_that_ends_before_the_start_leaves_the_start(self, app: Duetime) -> None:
        hourly(app, starts_at=at(4))
        await app.testing.drain()
        await app.jobs.pause(NAME, until=at(2))
        assert (await app.jobs.get(NAME)).next_due_at == at(4)

    async def test_a_clock_that_is_set_back_arms_within_the_span(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        ticks = hourly(app, starts_at=at(2), ends_at=at(30))
        await app.testing.advance(hours=20)
        clock.set(MIDNIGHT)
        await app.testing.drain()
        await app.jobs.pause(NAME)
        await app.jobs.resume(NAME)
        assert (await app.jobs.get(NAME)).next_due_at == at(2)
        await app.testing.advance(hours=40)
        assert ticks == [at(hour) for hour in range(2, 31)]


class TestRedeclaring:
    @pytest.mark.parametrize(
        ("change", "following"),
        [
            ({"starts_at": at(5)}, at(5)),
            ({"ends_at": at(0.5)}, None),
            ({"starts_at": at(2), "ends_at": at(3)}, at(2)),
        ],
    )
    async def test_a_changed_span_arms_the_job_at_once(
        self, durable_url: str, clock: FakeClock, change: dict[str, Any], following: datetime | None
    ) -> None:
        for how, expected in (({}, at(1)), (change, following), ({}, at(1))):
            async with Duetime(durable_url, name="shop", clock=clock) as app:
                hourly(app, **({"ends_at": at(99)} | how))
                await app.testing.drain()
                assert (await app.jobs.get(NAME)).next_due_at == expected

    async def test_a_tick_that_an_earlier_version_armed_outside_does_not_run(
        self, app: Duetime
    ) -> None:
        """It keeps the span, and does not obey it."""
        ticks = hourly(app, starts_at=at(3))
        await app.testing.drain()

        def armed_too_early(found: FoundJob) -> JobChange:
            assert found.job is not None
            early = round(at(1).timestamp() * 1_000_000)
            return JobChange(job=replace(found.job, next_due_at=early))

        await app.store.perform(app.store.edit_jobs(ByName((NAME,)), armed_too_early))
        assert (await app.jobs.get(NAME)).next_due_at == at(1)
        await app.testing.advance(hours=3)
        assert ticks == [at(3)]
        assert [run.tick for run in await app.jobs.runs(NAME)] == [at(3)]

    async def test_put_changes_the_span(self, app: Duetime) -> None:
        put: dict[str, Any] = {"name": "shop-note", "recurrence": "0 * * * *", "payload": Note()}
        job = await app.jobs.put(**put, starts_at=at(3))
        assert (job.next_due_at, job.version) == (at(3), 1)
        job = await app.jobs.put(**put, starts_at=at(4), misfire_after=60)
        assert (job.next_due_at, job.version) == (at(4), 2)
        assert (job.misfire_after, job.ends_at) == (timedelta(minutes=1), None)
        same = await app.jobs.put(**put, starts_at=at(4), misfire_after=60)
        assert same.version == 2
        entry = (await app.audit.find(subject="shop-note")).items[0]
        assert entry.before["starts_at"] != entry.after["starts_at"]
        assert entry.after["misfire_after"] == 60_000_000


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "error", "words"),
        [
            ({"starts_at": NAIVE}, NaiveDatetime, "starts_at=.*time zone"),
            ({"ends_at": NAIVE}, NaiveDatetime, "ends_at=.*time zone"),
            ({"starts_at": "tomorrow"}, InvalidArgument, "starts_at='tomorrow'"),
            ({"ends_at": date(2031, 1, 1)}, InvalidArgument, "ends_at="),
            ({"ends_at": 5}, InvalidArgument, "ends_at=5"),
            ({"starts_at": at(2), "ends_at": at(2)}, InvalidArgument, "ends_at=.*after starts_at="),
            ({"starts_at": at(2), "ends_at": at(1)}, InvalidArgument, "ends_at=.*after starts_at="),
            (
                {"starts_at": at(2.2), "ends_at": at(2.8)},
                InvalidArgument,
                "ends_at=.*no tick between it and starts_at=",
            ),
            (
                {"recurrence": [at(5)], "starts_at": at(6)},
                InvalidArgument,
                "starts_at=.*no tick from then on",
            ),
            ({"recurrence": [at(5)], "ends_at": at(4)}, InvalidArgument, "ends_at=.*that early"),
            ({"misfire_after": -1}, InvalidArgument, "misfire_after=-1"),
            ({"misfire_after": "5"}, InvalidArgument, "misfire_after='5'"),
            ({"misfire_after": True}, InvalidArgument, "misfire_after=True"),
        ],
        ids=repr,
    )
    async def test_bad_input_changes_nothing(
        self, memory_app: Duetime, given: dict[str, Any], error: type[Exception], words: str
    ) -> None:
        job: dict[str, Any] = {"recurrence": "0 * * * *"} | given
        with pytest.raises(error, match=words):
            memory_app.job(**job, name=NAME)(nothing)
        with pytest.raises(error, match=words):
            await memory_app.jobs.put("shop-note", **job, payload=Note())
        await memory_app.testing.drain()
        assert len(await memory_app.jobs.list()) == 0

    async def test_put_refuses_a_span_that_is_over(self, app: Duetime, clock: FakeClock) -> None:
        clock.set(at(9))
        with pytest.raises(InvalidArgument, match=r"ends_at=.*no tick is left before it"):
            await app.jobs.put("shop-note", "0 * * * *", payload=Note(), ends_at=at(5))
        with pytest.raises(InvalidRecurrence, match="its last tick has passed"):
            await app.jobs.put("shop-note", [at(3)], payload=Note(), ends_at=at(20))
        assert len(await app.jobs.list()) == 0

    async def test_code_may_declare_a_span_that_is_over(
        self, app: Duetime, caplog: pytest.LogCaptureFixture
    ) -> None:
        ticks = hourly(app, ends_at=datetime(2029, 1, 1, tzinfo=UTC))
        await app.testing.advance(hours=3)
        assert ticks == []
        assert "will never tick: its last tick has passed" in caplog.text


class TestMisfireAfter:
    @pytest.mark.parametrize(("own", "ran"), [(None, []), (1800, [at(1)]), (60, [])])
    async def test_it_overrides_the_setting_of_the_app(
        self, url: str, clock: FakeClock, own: float | None, ran: list[datetime]
    ) -> None:
        async with Duetime(url, clock=clock, misfire_after=60) as app:
            ticks = hourly(app, misfire="skip", misfire_after=own)
            await app.testing.drain()
            clock.set(at(1.5))
            await app.testing.drain()
            assert ticks == ran

    async def test_it_decides_which_ticks_run_one_after_another(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        """Of the policy `all`, only misfires are queued where `overlap` would skip them."""
        ticks = hourly(app, misfire=Misfire.all(), misfire_after=timedelta(days=1))
        await app.testing.drain()
        clock.set(at(3))
        await app.testing.drain()
        assert ticks == [at(1)]


class TestStored:
    """What versions before them make of these fields, and the other way round."""

    def test_a_plain_job_is_stored_as_before(self, memory_app: Duetime) -> None:
        text = stored_text(memory_app)
        assert {"misfire_after", "starts_at", "ends_at"}.isdisjoint(json.loads(text)["definition"])

    def test_a_job_stored_by_an_earlier_version_has_none_of_them(self, memory_app: Duetime) -> None:
        text = stored_text(memory_app)
        definition = of_text(text).definition
        assert (definition.misfire_after, definition.starts_at, definition.ends_at) == (None,) * 3
        assert to_text(of_text(text)) == text

    def test_they_are_stored_in_microseconds(self, memory_app: Duetime) -> None:
        text = stored_text(memory_app, starts_at=at(1), ends_at=at(2), misfire_after=0.5)
        assert (
            json.loads(text)["definition"]
            | {
                "misfire_after": 500_000,
                "starts_at": round(at(1).timestamp() * 1_000_000),
                "ends_at": round(at(2).timestamp() * 1_000_000),
            }
            == json.loads(text)["definition"]
        )
        assert to_text(of_text(text)) == text

    @pytest.mark.parametrize("field", ["starts_at", "ends_at", "misfire_after"])
    def test_a_number_that_no_version_writes_is_refused(
        self, memory_app: Duetime, field: str
    ) -> None:
        data = json.loads(stored_text(memory_app))
        data["definition"][field] = 2**63 - 1
        with pytest.raises(ValueError, match=field):
            of_text(json.dumps(data))


def stored_text(app: Duetime, **how: Any) -> str:
    hourly(app, **how)
    [definition] = app.runtime.jobs
    record: dict[str, Any] = {
        "app": "shop",
        "declared": True,
        "version": 1,
        "created_at": 0,
        "created_by": "ann",
    }
    return to_text(JobRecord(definition=definition, **record))


def nothing() -> None: ...
