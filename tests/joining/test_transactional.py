"""Handlers whose transaction is also their completion: all of it happened, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from duetime import Cancel, Duetime, Retry, Snooze, State
from duetime.errors import ActionNotFound
from duetime.events.types import ActionCancelled
from duetime.model.actions.action import Action
from joining.kinds import INSERT, KINDS, ON_POSTGRES, ON_SQLITE, Hand, Kind, count_notes, make_notes

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

        async def work(hand: Hand) -> str:
            await hand.execute(INSERT)
            followed = await hand.verb("schedule", Other(7), delay=3600)
            # Of all this nobody else knows anything yet.
            seen.append((count_notes(kind_url), followed.id))
            assert (await hand.verb("get", followed.id)).payload == Other(7)
            return "done"

        kind.declare(bank, work)
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.result, ended.attempt) == (State.succeeded, "done", 1)
        [(before, followed)] = seen
        assert (before, count_notes(kind_url)) == (0, 1)
        assert (await bank.get(followed)).state is State.scheduled
        assert [one.outcome for one in await bank.runs(ended.id)] == ["succeeded"]

    async def test_what_it_raises_takes_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        followed: list[Any] = []

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            followed.append((await hand.verb("schedule", Other())).id)
            if hand.context.attempt == 1:
                raise RuntimeError("once")

        kind.declare(bank, work, retry=Retry(delays=[0]))
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt) == (State.succeeded, 2)
        assert count_notes(kind_url) == 1
        with pytest.raises(ActionNotFound):
            await bank.get(followed[0])
        assert (await bank.get(followed[1])).payload == Other()

    async def test_an_outcome_that_is_returned_commits_and_one_that_is_raised_does_not(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> Snooze | Cancel | None:
            await hand.execute(INSERT)
            count = count_notes(kind_url)
            if count == 0:
                return Snooze(0.01)
            if len(await hand.verb("runs", hand.context.action_id)) < 3:
                raise Snooze(0.01)
            return Cancel("enough")

        kind.declare(bank, work)
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.error, ended.attempt) == (State.cancelled, "enough", 1)
        assert count_notes(kind_url) == 2
        outcomes = [one.outcome for one in await bank.runs(ended.id)]
        assert outcomes == ["snoozed", "snoozed", "cancelled"]

    async def test_a_result_that_cannot_be_kept_takes_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> object:
            await hand.execute(INSERT)
            return object()

        kind.declare(bank, work)
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt) == (State.failed, 1)
        assert "not JSON" in str(ended.error)
        assert count_notes(kind_url) == 0

    async def test_subscribers_hear_of_what_it_did_after_the_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        told: asyncio.Queue[int] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: ActionCancelled) -> None:
            loop.call_soon_threadsafe(told.put_nowait, count_notes(kind_url))

        bank.on(ActionCancelled, tell)
        unwanted = await bank.schedule(Other(), delay=3600)

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await hand.verb("cancel", unwanted.id)

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        assert await asyncio.wait_for(told.get(), 5) == 1

    async def test_a_savepoint_of_its_own_is_the_handlers_business(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await hand.execute("SAVEPOINT mine")
            await hand.execute(INSERT)
            await hand.execute("ROLLBACK TO SAVEPOINT mine")
            await hand.execute("RELEASE SAVEPOINT mine")

        kind.declare(bank, work)
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert count_notes(kind_url) == 1

    async def test_many_at_once(self, bank: Duetime, kind: Kind, kind_url: str) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)

        kind.declare(bank, work, retry=Retry.none())
        actions = [await bank.schedule(Note(str(n))) for n in range(30)]
        async with bank.worker(concurrency=8):
            ended = [await bank.wait(one.id, timeout=30) for one in actions]
        assert {one.state for one in ended} == {State.succeeded}
        assert count_notes(kind_url) == 30

    async def test_the_testing_kit_runs_it_too(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)

        kind.declare(bank, work)
        action = await bank.schedule(Note())
        assert await bank.testing.drain() == 1
        assert (await bank.get(action.id)).state is State.succeeded
        assert count_notes(kind_url) == 1


class TestFence:
    async def test_a_run_that_lost_its_lease_leaves_nothing(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """Somebody else got the action meanwhile: the token is another."""

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            sql = f"UPDATE duetime_actions SET token = '{uuid4()}'"
            await hand.execute(sql)

        kind.declare(bank, work)
        action = await bank.schedule(Note())
        assert await bank.testing.drain() == 1
        assert (await bank.get(action.id)).state is State.running
        assert count_notes(kind_url) == 0

    @pytest.mark.parametrize("statement", ["COMMIT", " commit ", "ROLLBACK", "END"])
    async def test_a_statement_that_ends_it_fails_the_run_for_good(
        self, bank: Duetime, kind: Kind, kind_url: str, statement: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await hand.execute(statement)

        kind.declare(bank, work, retry=Retry(delays=[0, 0, 0]))
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt) == (State.failed, 1)
        assert "duetime commits it" in str(ended.error)
        assert count_notes(kind_url) == 0

    async def test_so_does_its_own_commit(self, bank: Duetime, kind: Kind, kind_url: str) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            committing = hand.lent.commit()
            if not kind.blocking:
                await committing

        kind.declare(bank, work, retry=Retry(delays=[0, 0, 0]))
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt) == (State.failed, 1)
        assert "duetime commits it" in str(ended.error)
        assert count_notes(kind_url) == 0


class TestFaults:
    @pytest.mark.parametrize("kind_name", ON_POSTGRES, indirect=True)
    async def test_a_connection_that_breaks_costs_a_loss_and_no_attempt(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        killed: list[int] = []

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            if not killed:
                killed.append(await backend(hand))
                with psycopg.connect(kind_url) as admin:
                    admin.execute("SELECT pg_terminate_backend(%s, 5000)", killed)
            await hand.execute(INSERT)

        kind.declare(bank, work, retry=Retry.none())
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.losses, ended.attempt) == (State.succeeded, 1, 1)
        assert count_notes(kind_url) == 2

    @pytest.mark.parametrize("kind_name", AWAITED, indirect=True)
    async def test_a_timeout_takes_everything_back(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await asyncio.Event().wait()

        kind.declare(bank, work, retry=Retry.none(), timeout=0.2)
        ended = await run(bank, await bank.schedule(Note()))
        assert ended.state is State.failed
        assert "timed out" in str(ended.error)
        assert count_notes(kind_url) == 0


class Forgetful(Session):
    """Its commits happen, and nobody hears of the first: the connection breaks."""

    forgot = False

    def commit(self) -> None:
        super().commit()
        if not Forgetful.forgot:
            Forgetful.forgot = True
            raise OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)


class Unheard(Forgetful):
    """Its first commit never happens, and nobody hears of that either."""

    def commit(self) -> None:
        if not Forgetful.forgot:
            Forgetful.forgot = True
            self.connection().invalidate()
            raise OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)
        super().commit()


class TestLostReply:
    """What became of a commit is looked up, never guessed."""

    @pytest.mark.parametrize("kind_name", ["Session-psycopg", "Session-sqlite"], indirect=True)
    @pytest.mark.parametrize(
        ("sessions", "losses"), [(Forgetful, 0), (Unheard, 1)], ids=["happened", "not-happened"]
    )
    async def test_the_effect_is_there_once(
        self, kind: Kind, kind_url: str, sessions: type[Forgetful], losses: int
    ) -> None:
        Forgetful.forgot = False
        made = sessionmaker(kind.sessions(kind_url).kw["bind"], class_=sessions)
        app = Duetime(kind_url, sessions=made, lease=5)
        make_notes(kind_url)
        starts: list[int] = []

        async def work(hand: Hand) -> None:
            starts.append(hand.context.attempt)
            await hand.execute(INSERT)

        kind.declare(app, work, retry=Retry.none())
        async with app:
            ended = await run(app, await app.schedule(Note()))
        assert (ended.state, ended.losses) == (State.succeeded, losses)
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

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)

        kind.declare(app, work, retry=Retry.none())
        async with app:
            ended = await run(app, await app.schedule(Note()))
            runs = await app.runs(ended.id)
        assert (ended.state, ended.attempt, ended.losses) == (State.succeeded, 1, 0)
        assert [one.outcome for one in runs] == ["released", "released", "succeeded"]
        assert "no route" in str(runs[0].error)


async def backend(hand: Hand) -> int:
    found = await hand.execute("SELECT pg_backend_pid()")
    row = found.fetchone()
    return int((await row if asyncio.iscoroutine(row) else row)[0])


class TestChained:
    async def test_children_of_a_run_are_settled_and_read_what_it_did(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> object:
            ctx = hand.context
            parent = ctx.sync_parent() if kind.blocking else await ctx.parent()
            await hand.execute(INSERT)
            return "first" if parent is None else [parent.state, parent.result]

        kind.declare(bank, work)
        first = await bank.schedule(Note())
        second = await bank.schedule(Note(), after=first)
        unmet = await bank.schedule(Note(), after=second, on="failed")
        ended = await run(bank, second)
        assert (ended.state, ended.result) == (State.succeeded, ["succeeded", "first"])
        assert (await run(bank, unmet)).state is State.cancelled
        assert count_notes(kind_url) == 2
