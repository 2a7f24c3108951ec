"""Handlers whose transaction is also their completion: all of it happened, or nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from duetime import Cancel, Duetime, Release, Retry, RetryAfter, Snooze, State
from duetime.errors import ActionNotFound
from duetime.events.types import ActionCancelled
from duetime.model.actions.action import Action
from joining.transaction_kinds import (
    INSERT,
    KINDS,
    ON_POSTGRES,
    ON_SQLITE,
    HandlerTransaction,
    Kind,
    count_notes,
    make_notes,
)
from polling import until

# A plain function cannot be interrupted.
AWAITED = [name for name in KINDS if name.lower().startswith("async")]


@pytest.fixture(params=KINDS)
def kind_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def kind(kind_name: str) -> AsyncIterator[Kind]:
    kind = Kind(*KINDS[kind_name])
    yield kind
    await kind.close()


@pytest.fixture
def kind_url(request: pytest.FixtureRequest, kind_name: str) -> str:
    if kind_name in ON_SQLITE:
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def bank(kind: Kind, kind_url: str) -> AsyncIterator[Duetime]:
    """An app whose handlers get their transaction from `kind`, beside a table of notes."""
    app = Duetime(kind_url, sessions=kind.sessions(kind_url), lease=5, grace=5)
    app.payload(Other, kind="other")
    await app.find()
    make_notes(kind_url)
    async with app:
        yield app


async def run(app: Duetime, action: Action) -> Action:
    async with app.worker():
        return await app.wait(action.id, timeout=20)


class TestTogether:
    async def test_effect_completion_and_follow_up_are_one(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        seen: list[tuple[int, Any]] = []

        async def work(tx: HandlerTransaction) -> str:
            await tx.execute(INSERT)
            followed = await tx.verb("schedule", Other(7), delay=3600)
            # Other connections see none of this yet.
            seen.append((count_notes(kind_url), followed.id))
            assert (await tx.verb("get", followed.id)).payload == Other(7)
            return "done"

        kind.declare(bank, work)
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.result, finished.attempt) == (State.succeeded, "done", 1)
        [(before, followed)] = seen
        assert (before, count_notes(kind_url)) == (0, 1)
        assert (await bank.get(followed)).state is State.scheduled
        assert [run.outcome for run in await bank.runs(finished.id)] == ["succeeded"]

    async def test_an_error_rolls_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        followed: list[Any] = []

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            followed.append((await tx.verb("schedule", Other())).id)
            if tx.context.attempt == 1:
                raise RuntimeError("once")

        kind.declare(bank, work, retry=Retry(delays=[0]))
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt) == (State.succeeded, 2)
        assert count_notes(kind_url) == 1
        with pytest.raises(ActionNotFound):
            await bank.get(followed[0])
        assert (await bank.get(followed[1])).payload == Other()

    async def test_a_returned_signal_commits_and_a_raised_signal_rolls_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> Snooze | Cancel | None:
            await tx.execute(INSERT)
            count = count_notes(kind_url)
            if count == 0:
                return Snooze(0.01)
            if len(await tx.verb("runs", tx.context.action_id)) < 3:
                raise Snooze(0.01)
            return Cancel("enough")

        kind.declare(bank, work)
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.error, finished.attempt) == (State.cancelled, "enough", 1)
        assert count_notes(kind_url) == 2
        outcomes = [run.outcome for run in await bank.runs(finished.id)]
        assert outcomes == ["snoozed", "snoozed", "cancelled"]

    @pytest.mark.parametrize("how", ["raised", "returned"])
    @pytest.mark.parametrize("signal", [Release, Cancel])
    async def test_a_run_that_its_worker_ends_is_rolled_back_and_released(
        self, bank: Duetime, kind: Kind, kind_url: str, signal: type[Release], how: str
    ) -> None:
        starts, reasons = threading.Semaphore(0), list[str | None]()

        async def work(tx: HandlerTransaction) -> object:
            await tx.execute(INSERT)
            starts.release()
            if not reasons:
                await tx.until_stopped()
            reasons.append(tx.context.stop_reason)
            if not tx.context.cancelled:
                return "whole"
            if how == "raised":
                raise signal("half done")
            return signal("half done")

        kind.declare(bank, work)
        action = await bank.schedule(Note())
        async with bank.worker():
            await until(lambda: starts.acquire(blocking=False))
        waiting = await bank.get(action.id)
        assert (waiting.state, waiting.attempt, reasons) == (State.scheduled, 0, ["shutdown"])
        assert "half done" in str(waiting.error)
        assert count_notes(kind_url) == 0
        assert (await run(bank, action)).result == "whole"
        assert count_notes(kind_url) == 1
        assert [run.outcome for run in await bank.runs(action.id)] == ["released", "succeeded"]

    async def test_a_returned_retry_after_commits_and_a_raised_one_rolls_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> RetryAfter:
            await tx.execute(INSERT)
            if tx.context.attempt == 2:
                raise RetryAfter(0, "raised")
            return RetryAfter(0, "returned")

        kind.declare(bank, work, retry=Retry(delays=[60, 60]))
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.error) == (State.failed, "returned")
        assert count_notes(kind_url) == 2
        outcomes = [run.outcome for run in await bank.runs(finished.id)]
        assert outcomes == ["retried", "retried", "failed"]

    async def test_a_release_that_nothing_asked_for_rolls_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> Release:
            await tx.execute(INSERT)
            return Release()

        kind.declare(bank, work, retry=Retry.none())
        finished = await run(bank, await bank.schedule(Note()))
        assert finished.state is State.failed
        assert "Snooze(delay)" in str(finished.error)
        assert count_notes(kind_url) == 0

    async def test_a_result_that_is_not_json_rolls_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> object:
            await tx.execute(INSERT)
            return object()

        kind.declare(bank, work)
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt) == (State.failed, 1)
        assert "not JSON" in str(finished.error)
        assert count_notes(kind_url) == 0

    async def test_events_of_the_handler_are_emitted_after_the_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        counts: asyncio.Queue[int] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def count(event: ActionCancelled) -> None:
            loop.call_soon_threadsafe(counts.put_nowait, count_notes(kind_url))

        bank.on(ActionCancelled, count)
        unwanted = await bank.schedule(Other(), delay=3600)

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await tx.verb("cancel", unwanted.id)

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        assert await asyncio.wait_for(counts.get(), 5) == 1

    async def test_a_handler_may_use_savepoints(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await tx.execute("SAVEPOINT mine")
            await tx.execute(INSERT)
            await tx.execute("ROLLBACK TO SAVEPOINT mine")
            await tx.execute("RELEASE SAVEPOINT mine")

        kind.declare(bank, work)
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert count_notes(kind_url) == 1

    async def test_many_at_once(self, bank: Duetime, kind: Kind, kind_url: str) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)

        kind.declare(bank, work, retry=Retry.none())
        actions = [await bank.schedule(Note(str(n))) for n in range(30)]
        async with bank.worker(concurrency=8):
            finished = [await bank.wait(action.id, timeout=30) for action in actions]
        assert {action.state for action in finished} == {State.succeeded}
        assert count_notes(kind_url) == 30

    async def test_the_testing_kit_runs_it_too(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)

        kind.declare(bank, work)
        action = await bank.schedule(Note())
        assert await bank.testing.drain() == 1
        assert (await bank.get(action.id)).state is State.succeeded
        assert count_notes(kind_url) == 1


class TestFence:
    async def test_a_run_that_lost_its_lease_leaves_nothing(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """Another worker claimed the action meanwhile: the token differs."""

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            sql = f"UPDATE duetime_actions SET token = '{uuid4()}'"
            await tx.execute(sql)

        kind.declare(bank, work)
        action = await bank.schedule(Note())
        assert await bank.testing.drain() == 1
        assert (await bank.get(action.id)).state is State.running
        assert count_notes(kind_url) == 0

    @pytest.mark.parametrize("statement", ["COMMIT", " commit ", "ROLLBACK", "END"])
    async def test_a_statement_that_ends_it_fails_the_run_for_good(
        self, bank: Duetime, kind: Kind, kind_url: str, statement: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await tx.execute(statement)

        kind.declare(bank, work, retry=Retry(delays=[0, 0, 0]))
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt) == (State.failed, 1)
        assert "duetime commits it" in str(finished.error)
        assert count_notes(kind_url) == 0

    async def test_calling_commit_fails_the_run_for_good(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            committing = tx.lent.commit()
            if not kind.blocking:
                await committing

        kind.declare(bank, work, retry=Retry(delays=[0, 0, 0]))
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt) == (State.failed, 1)
        assert "duetime commits it" in str(finished.error)
        assert count_notes(kind_url) == 0


class TestFaults:
    @pytest.mark.parametrize("kind_name", ON_POSTGRES, indirect=True)
    async def test_a_connection_that_breaks_costs_a_loss_and_no_attempt(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        killed: list[int] = []

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            if not killed:
                killed.append(await backend(tx))
                with psycopg.connect(kind_url) as admin:
                    admin.execute("SELECT pg_terminate_backend(%s, 5000)", killed)
            await tx.execute(INSERT)

        kind.declare(bank, work, retry=Retry.none())
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.losses, finished.attempt) == (State.succeeded, 1, 1)
        assert count_notes(kind_url) == 2

    @pytest.mark.parametrize("kind_name", AWAITED, indirect=True)
    async def test_a_timeout_rolls_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await asyncio.Event().wait()

        kind.declare(bank, work, retry=Retry.none(), timeout=0.2)
        finished = await run(bank, await bank.schedule(Note()))
        assert finished.state is State.failed
        assert "timed out" in str(finished.error)
        assert count_notes(kind_url) == 0


class Forgetful(Session):
    """The first commit happens, but its reply is lost: the connection breaks."""

    forgot = False

    def commit(self) -> None:
        super().commit()
        if not Forgetful.forgot:
            Forgetful.forgot = True
            raise OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)


class LostCommit(Forgetful):
    """The first commit is lost before it reaches the server: the connection breaks."""

    def commit(self) -> None:
        if not Forgetful.forgot:
            Forgetful.forgot = True
            self.connection().invalidate()
            raise OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)
        super().commit()


class TestLostReply:
    """After a lost reply the store is asked whether the commit happened."""

    @pytest.mark.parametrize("kind_name", ["Session-psycopg", "Session-sqlite"], indirect=True)
    @pytest.mark.parametrize(
        ("sessions", "losses"), [(Forgetful, 0), (LostCommit, 1)], ids=["happened", "not-happened"]
    )
    async def test_the_effect_is_there_once(
        self, kind: Kind, kind_url: str, sessions: type[Forgetful], losses: int
    ) -> None:
        Forgetful.forgot = False
        made = sessionmaker(kind.sessions(kind_url).kw["bind"], class_=sessions)
        app = Duetime(kind_url, sessions=made, lease=5)
        make_notes(kind_url)
        starts: list[int] = []

        async def work(tx: HandlerTransaction) -> None:
            starts.append(tx.context.attempt)
            await tx.execute(INSERT)

        kind.declare(app, work, retry=Retry.none())
        async with app:
            finished = await run(app, await app.schedule(Note()))
        assert (finished.state, finished.losses) == (State.succeeded, losses)
        assert starts == [1] * (1 + losses)
        assert count_notes(kind_url) == 1


class TestBeginning:
    @pytest.mark.parametrize("kind_name", ["Session-psycopg", "Session-sqlite"], indirect=True)
    async def test_a_database_that_cannot_be_reached_costs_no_attempt(
        self, kind: Kind, kind_url: str
    ) -> None:
        maker, failures = kind.sessions(kind_url), iter([OSError("no route"), OSError("none")])

        def sessions() -> Session:
            for failure in failures:
                raise failure
            made: Session = maker()
            return made

        app = Duetime(kind_url, sessions=sessions, lease=5)
        make_notes(kind_url)

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)

        kind.declare(app, work, retry=Retry.none())
        async with app:
            finished = await run(app, await app.schedule(Note()))
            runs = await app.runs(finished.id)
        assert (finished.state, finished.attempt, finished.losses) == (State.succeeded, 1, 0)
        assert [run.outcome for run in runs] == ["released", "released", "succeeded"]
        assert "no route" in str(runs[0].error)


async def backend(tx: HandlerTransaction) -> int:
    found = await tx.execute("SELECT pg_backend_pid()")
    row = found.fetchone()
    return int((await row if asyncio.iscoroutine(row) else row)[0])


class TestChained:
    async def test_children_of_a_run_are_settled_and_read_what_it_did(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> object:
            ctx = tx.context
            parent = ctx.sync_parent() if kind.blocking else await ctx.parent()
            await tx.execute(INSERT)
            return "first" if parent is None else [parent.state, parent.result]

        kind.declare(bank, work)
        first = await bank.schedule(Note())
        second = await bank.schedule(Note(), after=first)
        unmet = await bank.schedule(Note(), after=second, on="failed")
        finished = await run(bank, second)
        assert (finished.state, finished.result) == (State.succeeded, ["succeeded", "first"])
        assert (await run(bank, unmet)).state is State.cancelled
        assert count_notes(kind_url) == 2
