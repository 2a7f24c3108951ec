"""A faulty job is refused where it is declared, by name and remedy; and seeding."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import MIDNIGHT, NAME, at, clock, nothing
from api.log_lines import LogLineWaiter
from duetime import Context, Duetime, Every, JobState
from duetime.errors import (
    ConfigError,
    InvalidArgument,
    InvalidPayload,
    InvalidRecurrence,
    StoreUnavailable,
    UnknownKind,
    UnreadableJob,
)
from duetime.model.actions.claim import SweepResult, WorkerInfo
from duetime.store.flow import Flow
from duetime.testing import FakeClock
from polling import until

__all__ = ["clock"]


def takes_note(note: Note) -> None: ...


def takes_context(ctx: Context) -> None: ...


class TestRefused:
    @pytest.mark.parametrize(
        ("how", "error", "said"),
        [
            ({"name": "report"}, InvalidArgument, r"\{module\}-\{action\}"),
            ({"name": "Shop_Report"}, InvalidArgument, "shop-report"),
            ({"name": "shop-" + "x" * 200}, InvalidArgument, "200"),
            ({"recurrence": "61 * * * *"}, InvalidRecurrence, "minute.*61"),
            ({"recurrence": "0 0 31 2 *"}, InvalidRecurrence, "never"),
            ({"recurrence": "* * *"}, InvalidRecurrence, "fields"),
            ({"tz": "Europe/Pairs"}, InvalidRecurrence, "Europe/Paris"),
            ({"recurrence": timedelta(minutes=5)}, InvalidRecurrence, "Every"),
            ({"jitter": -1}, InvalidArgument, "jitter"),
            ({"jitter": timedelta(days=2)}, InvalidArgument, "at most a day"),
            ({"overlap": "skipp"}, InvalidArgument, "'skip'"),
            ({"misfire": "onec"}, InvalidArgument, "once"),
            ({"alert_after": 0}, InvalidArgument, "alert_after"),
            ({"priority": "hi"}, InvalidArgument, "high"),
            ({"retry": 3}, ConfigError, "Retry"),
            ({"payload": Note()}, InvalidPayload, "not a dataclass"),
            ({"tenant": ""}, InvalidArgument, "tenant"),
        ],
    )
    def test_what_no_job_can_be(
        self, memory_app: Duetime, how: dict[str, Any], error: type[Exception], said: str
    ) -> None:
        given = {"recurrence": "0 * * * *", "name": NAME} | how
        with pytest.raises(error, match=said):
            memory_app.job(given.pop("recurrence"), **given)(nothing)
        # Nothing of it was declared.
        memory_app.job("0 * * * *", name=NAME)(nothing)

    def test_an_interval_below_a_second(self) -> None:
        with pytest.raises(InvalidRecurrence, match="one second"):
            Every(seconds=0.5)

    @pytest.mark.parametrize("payload", [None, "text", takes_note])
    def test_a_payload_that_is_missing_or_another(self, memory_app: Duetime, payload: Any) -> None:
        with pytest.raises(InvalidPayload, match=r"payload=Note\(\.\.\.\)"):
            memory_app.job("0 * * * *", name=NAME, payload=payload)(takes_note)

    def test_two_jobs_of_one_name(self, memory_app: Duetime) -> None:
        memory_app.job("0 * * * *", name=NAME)(nothing)
        with pytest.raises(ConfigError, match="two jobs"):
            memory_app.job("0 * * * *", name=NAME)(takes_context)

    async def test_put_of_a_payload_without_a_handler(self, memory_app: Duetime) -> None:
        @dataclass
        class Unknown:
            n: int = 1

        with pytest.raises(UnknownKind):
            await memory_app.jobs.put(NAME, "0 * * * *", payload=Unknown())

    async def test_until_in_the_past(self, memory_app: Duetime) -> None:
        memory_app.job("0 * * * *", name=NAME)(nothing)
        await memory_app.testing.drain()
        with pytest.raises(InvalidArgument, match="give an instant in the future"):
            await memory_app.jobs.pause(NAME, until=datetime(2000, 1, 1, tzinfo=UTC))

    def test_the_function_is_returned_unchanged(self, memory_app: Duetime) -> None:
        assert memory_app.job("0 * * * *", name=NAME)(nothing) is nothing


@pytest.fixture
def deploy(durable_url: str, clock: FakeClock) -> Callable[..., Duetime]:
    """A new version of the app, with other jobs."""

    def make(name: str = "shop", **jobs: str) -> Duetime:
        app = Duetime(durable_url, clock=clock, name=name, sweep=0.05)
        for job, rule in jobs.items():
            app.job(rule, name=job.replace("_", "-"))(nothing)
        return app

    return make


class TestSeeding:
    async def test_it_is_done_when_the_worker_is_entered(
        self, deploy: Callable[..., Duetime]
    ) -> None:
        async with deploy(shop_report="0 * * * *") as app:
            assert list(await app.jobs.list()) == []
            async with app.worker():
                [job] = await app.jobs.list()
                assert (job.name, job.enabled, job.declared) == (NAME, True, True)

    async def test_a_changed_rule_is_armed_at_once(self, deploy: Callable[..., Duetime]) -> None:
        async with deploy(shop_report="0 12 * * *") as old, old.worker():
            before = await old.jobs.get(NAME)
        async with deploy(shop_report="30 6 * * *") as new, new.worker():
            after = await new.jobs.get(NAME)
        assert (before.next_due_at, before.version) == (MIDNIGHT + timedelta(hours=12), 1)
        assert (after.next_due_at, after.version) == (MIDNIGHT + timedelta(hours=6.5), 2)

    async def test_the_same_declaration_changes_nothing(
        self, deploy: Callable[..., Duetime]
    ) -> None:
        for _ in range(3):
            async with deploy(shop_report="0 12 * * *") as app, app.worker():
                job = await app.jobs.get(NAME)
                assert job.version == 1

    async def test_a_job_that_is_no_longer_declared_is_retired_and_may_return(
        self, deploy: Callable[..., Duetime], clock: FakeClock
    ) -> None:
        async with deploy(shop_report="0 * * * *") as app, app.worker():
            await app.jobs.pause(NAME, by="ann", note="audit")
        clock.advance(minutes=5)
        async with deploy(shop_other="0 * * * *") as app:
            async with app.worker(), LogLineWaiter("shop-report is retired"):
                pass
            job = await app.jobs.get(NAME)
            assert (job.state, job.next_due_at) == (JobState.retired, None)
        async with deploy(shop_report="0 * * * *") as app, app.worker():
            job = await app.jobs.get(NAME)
            assert (job.state, job.pause_note) == (JobState.paused, "audit")
            assert (await app.jobs.resume(NAME)).next_due_at == MIDNIGHT + timedelta(hours=1)

    async def test_a_job_that_another_live_worker_declares_is_not_retired(
        self, deploy: Callable[..., Duetime], clock: FakeClock
    ) -> None:
        old, new = deploy(shop_report="0 * * * *"), deploy(shop_other="0 * * * *")
        async with old, new, old.worker(), new.worker():
            await new.testing.drain()
            job = await new.jobs.get(NAME)
            assert job.state is JobState.scheduled

    async def test_when_an_old_worker_that_came_back_is_gone_the_newer_code_counts(
        self, deploy: Callable[..., Duetime], clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It crashed in the midst of a deploy, was started again, and is stopped at last."""
        new, old = deploy(shop_report="30 6 * * *"), deploy(shop_report="0 12 * * *")
        async with new, old, new.worker(), AsyncExitStack() as back:
            clock.advance(seconds=1)
            await back.enter_async_context(old.worker())
            assert (await new.jobs.get(NAME)).recurrence == "0 12 * * *"
            await two_sweeps(new, monkeypatch)
            async with LogLineWaiter("shop-report changed"):
                await back.aclose()
            assert (await new.jobs.get(NAME)).recurrence == "30 6 * * *"

    async def test_a_job_that_was_retired_while_its_worker_was_cut_off_comes_back(
        self, deploy: Callable[..., Duetime], clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut, other = deploy(shop_report="0 * * * *"), deploy(shop_other="0 * * * *")

        async def unreachable(flow: Flow[Any]) -> None:
            raise StoreUnavailable("the network is down")

        async with cut, other, cut.worker(), other.worker():
            with monkeypatch.context() as network:
                # All calls are cut, not only sweeps: otherwise the worker's own check could restore
                # the job before the network is back.
                network.setattr(cut.store, "perform", unreachable)
                async with LogLineWaiter("shop-report is retired") as retired:
                    # A sweep that was on its way when the network broke may still be seen.
                    for _ in range(8):
                        clock.advance(minutes=5)
                        if await retired.within(2):
                            break
            async with LogLineWaiter("shop-report changed"):
                pass

            async def is_scheduled() -> bool:
                return (await other.jobs.get(NAME)).state is JobState.scheduled

            # On a busy machine the other worker may retire it again, before it sees the sweep.
            await until(is_scheduled)
            assert (await other.jobs.get(NAME)).next_due_at == at(1)

    async def test_older_code_brings_back_what_is_retired_and_changes_no_rule(
        self, deploy: Callable[..., Duetime], clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It lost its place as the youngest before it could seed."""
        old = deploy(shop_report="0 12 * * *")
        new = deploy(shop_report="30 6 * * *")
        async with old, new, old.worker() as worker:
            clock.advance(seconds=1)
            async with new.worker():
                await worker._seeder.seed()
                assert (await new.jobs.get(NAME)).recurrence == "30 6 * * *"

    async def test_a_handler_alone_keeps_no_job_alive(
        self, deploy: Callable[..., Duetime], clock: FakeClock
    ) -> None:
        async with deploy(shop_report="0 * * * *") as app, app.worker():
            pass
        clock.advance(minutes=5)
        async with deploy(shop_other="0 * * * *") as app:
            app.handler(kind=NAME)(plain)
            async with app.worker(), LogLineWaiter("shop-report is retired"):
                pass

    async def test_a_removed_job_stays_removed(self, deploy: Callable[..., Duetime]) -> None:
        async with deploy(shop_report="0 * * * *") as app, app.worker():
            await app.jobs.remove(NAME)
        async with deploy(shop_report="30 * * * *") as app, app.worker():
            assert list(await app.jobs.list()) == []
            assert (await app.jobs.restore(NAME)).removed is False

    async def test_one_bad_job_blocks_no_other(
        self, deploy: Callable[..., Duetime], caplog: pytest.LogCaptureFixture
    ) -> None:
        bank = deploy("bank", shop_report="0 * * * *")
        app = deploy(shop_other="0 * * * *", shop_report="1 * * * *")
        with caplog.at_level(logging.ERROR, "duetime.worker"):
            async with bank, bank.worker(), app, app.worker():
                assert {job.name for job in await app.jobs.list()} == {NAME, "shop-other"}
                assert (await app.jobs.get(NAME)).recurrence == "0 * * * *"
        assert "of the app 'bank'" in caplog.text

    async def test_an_app_that_was_renamed_keeps_its_jobs(
        self, deploy: Callable[..., Duetime]
    ) -> None:
        async with deploy("shop", shop_report="0 * * * *") as old, old.worker():
            await old.jobs.pause(NAME, by="ann")
        async with deploy("store", shop_report="0 * * * *") as new, new.worker():
            job = await new.jobs.resume(NAME)
            assert (job.state, job.next_due_at) == (JobState.scheduled, at(1))

    async def test_also_once_the_last_worker_of_the_old_name_is_gone(
        self, deploy: Callable[..., Duetime]
    ) -> None:
        old, new = deploy("shop", shop_report="0 * * * *"), deploy("store", shop_report="1 * * * *")
        async with old, new, AsyncExitStack() as running:
            await running.enter_async_context(old.worker())
            async with new.worker():
                assert (await new.jobs.get(NAME)).recurrence == "0 * * * *"
                async with LogLineWaiter("shop-report changed"):
                    await running.aclose()
                assert (await new.jobs.get(NAME)).recurrence == "1 * * * *"


@dataclass
class Plain:
    """Of the same name as a job."""


def plain(payload: Plain) -> None: ...


async def two_sweeps(app: Duetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first may have been under way already."""
    begun: asyncio.Queue[None] = asyncio.Queue()
    sweep = app.store.sweep

    def counted(presence: WorkerInfo, ahead: int, limit: int) -> Flow[SweepResult]:
        begun.put_nowait(None)
        return sweep(presence, ahead, limit)

    monkeypatch.setattr(app.store, "sweep", counted)
    for _ in range(3):
        await asyncio.wait_for(begun.get(), 20)


class TestUnreadable:
    """A newer version may have written what this one cannot read."""

    @pytest.mark.parametrize(
        ("was", "is_"), [('"skip"', '"newer"'), ('"tz":"UTC"', '"tz":"Mars/Olympus"')]
    )
    async def test_many_unreadable_jobs_block_no_other(
        self, sqlite_path: Path, clock: FakeClock, was: str, is_: str
    ) -> None:
        ran = asyncio.Event()
        async with Duetime(f"sqlite:///{sqlite_path}", clock=clock, batch=5) as app:
            for number in range(12):
                app.job("0 * * * *", name=f"shop-bad-{number}")(nothing)
            app.job("0 2 * * *", name=NAME)(ran.set)
            await app.testing.drain()
            with closing(sqlite3.connect(sqlite_path)) as other, other:
                changed = "UPDATE duetime_jobs SET record = replace(record, ?, ?) "
                other.execute(changed + "WHERE name LIKE 'shop-bad-%'", (was, is_))
            async with Duetime(f"sqlite:///{sqlite_path}", clock=clock, batch=5) as later:
                later.job("0 2 * * *", name=NAME)(ran.set)
                async with later.worker():
                    clock.advance(hours=2)
                    await asyncio.wait_for(ran.wait(), 20)

    @pytest.mark.parametrize(
        "verb",
        [
            *("get", "runs", "preview", "pause", "resume", "trigger", "remove", "restore", "put"),
            "backfill",
        ],
    )
    async def test_each_verb_says_so(self, sqlite_path: Path, clock: FakeClock, verb: str) -> None:
        async with Duetime(f"sqlite:///{sqlite_path}", clock=clock) as app:
            app.handler(kind="note")(takes_note)
            await app.jobs.put(NAME, "0 * * * *", payload=Note())
            with closing(sqlite3.connect(sqlite_path)) as other, other:
                other.execute(
                    "UPDATE duetime_jobs SET record = replace(record, '\"skip\"', '\"newer\"')"
                )
            more: dict[str, Any] = {
                "put": {"recurrence": "1 * * * *", "payload": Note()},
                "backfill": {"start": at(-1), "end": at(0), "dry_run": False},
            }.get(verb, {})
            with pytest.raises(UnreadableJob, match="upgrade this process"):
                await getattr(app.jobs, verb)(NAME, **more)

    async def test_a_job_of_an_unknown_zone_is_paused_and_resumed(
        self, sqlite_path: Path, clock: FakeClock
    ) -> None:
        async with Duetime(f"sqlite:///{sqlite_path}", clock=clock) as app:
            app.job("0 * * * *", name=NAME)(nothing)
            await app.testing.drain()
            with closing(sqlite3.connect(sqlite_path)) as other, other:
                other.execute(
                    "UPDATE duetime_jobs SET record = replace(record, '\"UTC\"', '\"Mars/O\"')"
                )
            assert (await app.jobs.pause(NAME)).next_due_at is None
            # Whoever knows the zone is to compute it at once.
            assert (await app.jobs.resume(NAME)).next_due_at == MIDNIGHT

    async def test_an_unreadable_job_blocks_no_other(
        self, sqlite_path: Path, clock: FakeClock
    ) -> None:
        ran: list[str] = []
        app = Duetime(f"sqlite:///{sqlite_path}", clock=clock)
        for name in ("shop-new", "shop-old"):
            app.job("0 * * * *", name=name)(partial(ran.append, name))
        async with app:
            await app.testing.drain()
            with closing(sqlite3.connect(sqlite_path)) as other, other:
                other.execute(
                    "UPDATE duetime_jobs SET record = replace(record, '\"skip\"', '\"newer\"') "
                    "WHERE name = 'shop-new'"
                )
            assert await app.testing.advance(hours=2) == 2
            async with app.worker():
                new, old = await app.jobs.list()
                assert (new.name, old.name) == ("shop-new", "shop-old")
                assert (new.last_error or "").startswith("unreadable: ")
                assert old.last_error is None
        assert ran == ["shop-old", "shop-old"]
