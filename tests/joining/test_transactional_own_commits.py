"""A handler that commits by itself, by whatever means, is never run a second time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from awaiting import until
from duetime import Duetime, Fail, Retry, State
from duetime.errors import ConfigError
from duetime.events.types import ActionCancelled
from duetime.model.actions.action import Action
from duetime.store.sql.transactional.commit_guard import refuse_ending
from duetime.store.transaction import OwnCommit
from joining.kinds import INSERT, KINDS, Hand, Kind, count_notes
from joining.test_transactional import bank, kind, kind_name, kind_url, run

__all__ = ["bank", "kind", "kind_name", "kind_url"]

AGAIN = Retry(delays=[0, 0, 0])
SESSIONS = [name for name in KINDS if "Session" in name]


async def raw(hand: Hand, sql: str) -> None:
    """Past everything that watches over the session or the connection."""
    if isinstance(hand.lent, sqlite3.Connection):
        hand.lent.executescript(sql)
    elif hasattr(hand.lent, "pgconn"):
        hand.lent.pgconn.exec_(sql.encode())
    elif isinstance(hand.lent, Session):
        execute_raw(hand.lent, sql)
    else:
        await hand.lent.run_sync(execute_raw, sql)


def execute_raw(session: Session, sql: str) -> None:
    cursor = session.connection().connection.cursor()
    for part in sql.split(";"):
        cursor.execute(part)
    cursor.close()


def kept(url: str) -> int:
    """SQLite itself refuses such a commit; PostgreSQL has made it before anybody could."""
    return 0 if url.startswith("sqlite") else 1


async def failed_for_good(bank: Duetime, kind: Kind, work: Callable[[Hand], Any]) -> Action:
    kind.declare(bank, work, retry=AGAIN)
    ended = await run(bank, await bank.schedule(Note()))
    assert (ended.state, ended.attempt) == (State.failed, 1)
    assert "duetime commits it" in str(ended.error)
    return ended


class TestByRawMeans:
    @pytest.mark.parametrize("sql", ["COMMIT", "COMMIT; BEGIN", "COMMIT; BEGIN; SELECT 1/0"])
    async def test_and_then_returns(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await raw(hand, sql)

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)

    @pytest.mark.parametrize("sql", ["COMMIT", "COMMIT; BEGIN"])
    async def test_and_then_raises(
        self,
        bank: Duetime,
        kind: Kind,
        kind_url: str,
        sql: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await raw(hand, sql)
            raise RuntimeError("after the fact")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)
        told = [one for one in caplog.records if one.exc_info and one.levelname == "ERROR"]
        assert [str(one.exc_info[1]) for one in told if one.exc_info] == (
            ["after the fact"] * kept(kind_url)
        )

    @pytest.mark.parametrize("sql", ["COMMIT", "COMMIT; BEGIN"])
    async def test_and_then_meets_an_error_of_the_server(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        """Which says nothing more of the transaction, and has one less to say it of."""

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await raw(hand, sql)
            await hand.execute("SELECT * FROM nowhere")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)

    async def test_an_error_of_the_server_alone_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """Also on a connection over which others were committed before."""

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            if hand.context.attempt == 2:
                await hand.execute("SELECT * FROM nowhere")
            elif hand.context.attempt == 1:
                await hand.verb("schedule", Other(1))
                await hand.execute("INSERT INTO notes (nothing) VALUES (1)")

        kind.declare(bank, work, retry=AGAIN)
        for count in (1, 2):
            ended = await run(bank, await bank.schedule(Note()))
            assert (ended.state, ended.attempt) == (State.succeeded, 3)
            assert count_notes(kind_url) == count

    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_with_the_drivers_own_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        def commit(session: Session) -> None:
            session.connection().connection.commit()

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            if kind.blocking:
                commit(hand.lent)
            else:
                await hand.lent.run_sync(commit)

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)

    async def test_the_next_run_has_a_connection_like_any_other(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """Nothing of what watched over the last transaction stays on its connection."""
        seen: list[int] = []

        async def work(hand: Hand) -> None:
            seen.append(hand.context.attempt)
            await hand.execute(INSERT)
            if len(seen) == 1:
                raise RuntimeError("once")

        kind.declare(bank, work, retry=AGAIN)
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert count_notes(kind_url) == 2


class TestSessionRolledBack:
    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_and_its_error_raised_again_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """As many handlers do with a session; nothing of it was committed."""

        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            if hand.context.attempt < 3:
                rolling = hand.lent.rollback()
                if not kind.blocking:
                    await rolling
                raise RuntimeError("try again")

        kind.declare(bank, work, retry=AGAIN)
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)

    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_the_engine_stays_of_use_to_others(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            rolling = hand.lent.rollback()
            if not kind.blocking:
                await rolling
            raise Fail("no")

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        await kind.insert_by_itself()
        assert count_notes(kind_url) == 1


class TestSavepoint:
    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_of_what_it_took_back_nobody_hears(self, bank: Duetime, kind: Kind) -> None:
        told: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: ActionCancelled) -> None:
            loop.call_soon_threadsafe(told.put_nowait, event.action_id)

        bank.on(ActionCancelled, tell)
        kept = await bank.schedule(Other(), delay=3600)
        gone = await bank.schedule(Other(), delay=3600)

        async def work(hand: Hand) -> None:
            point = hand.lent.begin_nested()
            point = point if kind.blocking else await point
            await hand.verb("cancel", kept.id)
            undone = point.rollback()
            if not kind.blocking:
                await undone
            await hand.verb("cancel", gone.id)

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        assert await asyncio.wait_for(told.get(), 5) == gone.id
        assert told.empty()
        assert (await bank.get(kept.id)).state is State.scheduled


@pytest.mark.parametrize(
    "text",
    [
        "COMMIT",
        " commit work",
        "/* for sure */ COMMIT",
        "-- done\nCOMMIT AND CHAIN",
        "SELECT 1; COMMIT",
        "SELECT ';'; ROLLBACK TRANSACTION",
        "END",
        "abort",
        "PREPARE TRANSACTION 'x'",
        "ROLLBACK",
    ],
)
def test_a_text_that_ends_a_transaction_is_known(text: str) -> None:
    with pytest.raises(OwnCommit):
        refuse_ending(text)


@pytest.mark.parametrize(
    "text",
    [
        "ROLLBACK TO SAVEPOINT mine",
        "rollback work to mine",
        "SELECT CASE WHEN true THEN 1 END",
        "SELECT 'x; COMMIT'",
        'SELECT 1 AS "commit"',
        "SELECT $$; COMMIT; $$",
        "PREPARE plan AS SELECT 1",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END",
        "SELECT 'commit \\",
        "",
    ],
)
def test_a_text_that_only_looks_like_it_passes(text: str) -> None:
    refuse_ending(text)


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
async def test_many_statements_of_one_kind_are_looked_at_too(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    async def work(hand: Hand) -> None:
        await hand.execute(INSERT)
        sent = hand.lent.cursor().executemany("COMMIT", [()])
        if not kind.blocking:
            await sent

    await failed_for_good(bank, kind, work)
    assert count_notes(kind_url) == 0


@pytest.mark.skipif(not hasattr(sqlite3, "LEGACY_TRANSACTION_CONTROL"), reason="Python 3.12")
async def test_an_engine_that_commits_each_statement_is_refused(sqlite_path: Any) -> None:
    engine = create_engine(f"sqlite:///{sqlite_path}", connect_args={"autocommit": True})
    app = Duetime(f"sqlite:///{sqlite_path}", sessions=sessionmaker(engine))

    @app.handler(kind="note", transactional=True, retry=Retry.none())
    def handle(note: Note, session: Session) -> None: ...

    async with app:
        ended = await run(app, await app.schedule(Note()))
    assert ended.state is State.failed
    assert ConfigError.__name__ in str(ended.error)
    engine.dispose()


@pytest.mark.parametrize("kind_name", ["async-psycopg"], indirect=True)
async def test_two_interruptions_at_once_hide_no_commit(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    """The second interrupts what should have ended the statement: it is still under way."""

    async def work(hand: Hand) -> None:
        await hand.execute(INSERT)
        await raw(hand, "COMMIT; BEGIN")
        sleeping = asyncio.create_task(hand.execute("SELECT pg_sleep(60)"))
        await until(lambda: hand.lent.info.transaction_status == TransactionStatus.ACTIVE)
        sleeping.cancel()
        await asyncio.sleep(0)
        sleeping.cancel()
        await asyncio.wait([sleeping])
        assert hand.lent.info.transaction_status == TransactionStatus.ACTIVE
        raise TimeoutError

    await failed_for_good(bank, kind, work)
    assert count_notes(kind_url) == 1


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
class TestLeftUnderWay:
    async def test_a_statement_hides_no_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            await raw(hand, "COMMIT; BEGIN")
            hand.lent.pgconn.send_query(b"SELECT pg_sleep(60)")
            raise RuntimeError("in the middle")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == 1

    async def test_nor_if_the_first_cancel_overtakes_it(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """The server then has nothing to cancel, and begins the statement afterwards."""

        async def work(hand: Hand) -> None:
            def overtake(*, timeout: float) -> None:
                del hand.lent.cancel_safe

            async def overtake_awaited(*, timeout: float) -> None:
                overtake(timeout=timeout)

            await hand.execute(INSERT)
            await raw(hand, "COMMIT; BEGIN")
            hand.lent.pgconn.send_query(b"SELECT pg_sleep(60)")
            hand.lent.cancel_safe = overtake if kind.blocking else overtake_awaited
            raise RuntimeError("in the middle")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == 1

    @pytest.mark.parametrize("sql", ["SELECT pg_sleep(60)", "COPY notes TO STDOUT"])
    async def test_nothing_committed_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        async def work(hand: Hand) -> None:
            await hand.execute(INSERT)
            if hand.context.attempt < 3:
                hand.lent.pgconn.send_query(sql.encode())
                raise RuntimeError("in the middle")

        kind.declare(bank, work, retry=AGAIN)
        ended = await run(bank, await bank.schedule(Note()))
        assert (ended.state, ended.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
@pytest.mark.parametrize("rows", [2, 3_000_000])
async def test_a_stream_that_is_left_in_the_middle_is_no_hindrance(
    bank: Duetime, kind: Kind, kind_url: str, rows: int
) -> None:
    """Whoever closes it reads the connection, too."""

    async def work(hand: Hand) -> None:
        await hand.execute(INSERT)
        if hand.context.attempt < 3:
            found = hand.lent.cursor().stream(f"SELECT generate_series(1, {rows})")
            if kind.blocking:
                for _ in found:
                    raise RuntimeError("in the middle")
            async for _ in found:
                raise RuntimeError("in the middle")

    kind.declare(bank, work, retry=AGAIN)
    ended = await run(bank, await bank.schedule(Note()))
    assert (ended.state, ended.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)
