"""A handler that commits by itself, by whatever means, is never run a second time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from duetime import Duetime, Fail, Retry, State
from duetime.errors import ConfigError
from duetime.events.types import ActionCancelled
from duetime.model.actions.action import Action
from duetime.store.sql.transactional.commit_guard import refuse_transaction_end
from duetime.store.transaction import UserCommitted
from joining.test_transactional import bank, kind, kind_name, kind_url, run
from joining.transaction_kinds import INSERT, KINDS, HandlerTransaction, Kind, count_notes
from polling import until

__all__ = ["bank", "kind", "kind_name", "kind_url"]

THREE_RETRIES = Retry(delays=[0, 0, 0])
SESSIONS = [name for name in KINDS if "Session" in name]


async def raw(tx: HandlerTransaction, sql: str) -> None:
    """Execute SQL on the driver, past every guard of the session or the connection."""
    if isinstance(tx.lent, sqlite3.Connection):
        tx.lent.executescript(sql)
    elif hasattr(tx.lent, "pgconn"):
        tx.lent.pgconn.exec_(sql.encode())
    elif isinstance(tx.lent, Session):
        execute_raw(tx.lent, sql)
    else:
        await tx.lent.run_sync(execute_raw, sql)


def execute_raw(session: Session, sql: str) -> None:
    cursor = session.connection().connection.cursor()
    for part in sql.split(";"):
        cursor.execute(part)
    cursor.close()


def kept(url: str) -> int:
    """Return how many notes stay: SQLite refuses such a commit, PostgreSQL executes it."""
    return 0 if url.startswith("sqlite") else 1


async def failed_for_good(
    bank: Duetime, kind: Kind, work: Callable[[HandlerTransaction], Any]
) -> Action:
    kind.declare(bank, work, retry=THREE_RETRIES)
    finished = await run(bank, await bank.schedule(Note()))
    assert (finished.state, finished.attempt) == (State.failed, 1)
    assert "duetime commits it" in str(finished.error)
    return finished


class TestByRawMeans:
    @pytest.mark.parametrize("sql", ["COMMIT", "COMMIT; BEGIN", "COMMIT; BEGIN; SELECT 1/0"])
    async def test_and_then_returns(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await raw(tx, sql)

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
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await raw(tx, sql)
            raise RuntimeError("after the fact")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)
        events = [
            record for record in caplog.records if record.exc_info and record.levelname == "ERROR"
        ]
        assert [str(record.exc_info[1]) for record in events if record.exc_info] == (
            ["after the fact"] * kept(kind_url)
        )

    @pytest.mark.parametrize("sql", ["COMMIT", "COMMIT; BEGIN"])
    async def test_and_then_meets_an_error_of_the_server(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        """The failed transaction on the server is another one than the marked one."""

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await raw(tx, sql)
            await tx.execute("SELECT * FROM nowhere")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)

    async def test_an_error_of_the_server_alone_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """Also on a connection that committed other transactions before."""

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            if tx.context.attempt == 2:
                await tx.execute("SELECT * FROM nowhere")
            elif tx.context.attempt == 1:
                await tx.verb("schedule", Other(1))
                await tx.execute("INSERT INTO notes (nothing) VALUES (1)")

        kind.declare(bank, work, retry=THREE_RETRIES)
        for count in (1, 2):
            finished = await run(bank, await bank.schedule(Note()))
            assert (finished.state, finished.attempt) == (State.succeeded, 3)
            assert count_notes(kind_url) == count

    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_with_the_drivers_own_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        def commit(session: Session) -> None:
            session.connection().connection.commit()

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            if kind.blocking:
                commit(tx.lent)
            else:
                await tx.lent.run_sync(commit)

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == kept(kind_url)

    async def test_the_next_run_has_a_connection_like_any_other(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """No guard of the last transaction stays on its connection."""
        seen: list[int] = []

        async def work(tx: HandlerTransaction) -> None:
            seen.append(tx.context.attempt)
            await tx.execute(INSERT)
            if len(seen) == 1:
                raise RuntimeError("once")

        kind.declare(bank, work, retry=THREE_RETRIES)
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
        assert count_notes(kind_url) == 2


class TestSessionRolledBack:
    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_and_its_error_raised_again_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """As many handlers do with a session; nothing of it was committed."""

        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            if tx.context.attempt < 3:
                rolling = tx.lent.rollback()
                if not kind.blocking:
                    await rolling
                raise RuntimeError("try again")

        kind.declare(bank, work, retry=THREE_RETRIES)
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)

    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_the_engine_stays_of_use_to_others(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            rolling = tx.lent.rollback()
            if not kind.blocking:
                await rolling
            raise Fail("no")

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        await kind.insert_by_itself()
        assert count_notes(kind_url) == 1


class TestSavepoint:
    @pytest.mark.parametrize("kind_name", SESSIONS, indirect=True)
    async def test_a_rollback_drops_its_events(self, bank: Duetime, kind: Kind) -> None:
        events: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def record(event: ActionCancelled) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event.action_id)

        bank.on(ActionCancelled, record)
        kept = await bank.schedule(Other(), delay=3600)
        gone = await bank.schedule(Other(), delay=3600)

        async def work(tx: HandlerTransaction) -> None:
            point = tx.lent.begin_nested()
            point = point if kind.blocking else await point
            await tx.verb("cancel", kept.id)
            undone = point.rollback()
            if not kind.blocking:
                await undone
            await tx.verb("cancel", gone.id)

        kind.declare(bank, work)
        await run(bank, await bank.schedule(Note()))
        assert await asyncio.wait_for(events.get(), 5) == gone.id
        assert events.empty()
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
    with pytest.raises(UserCommitted):
        refuse_transaction_end(text)


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
    refuse_transaction_end(text)


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
async def test_executemany_is_guarded_too(bank: Duetime, kind: Kind, kind_url: str) -> None:
    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        sent = tx.lent.cursor().executemany("COMMIT", [()])
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
        finished = await run(app, await app.schedule(Note()))
    assert finished.state is State.failed
    assert ConfigError.__name__ in str(finished.error)
    engine.dispose()


@pytest.mark.parametrize("kind_name", ["async-psycopg"], indirect=True)
async def test_two_interruptions_at_once_hide_no_commit(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    """The second cancel interrupts psycopg's own cancel: the statement is still under way."""

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        await raw(tx, "COMMIT; BEGIN")
        sleeping = asyncio.create_task(tx.execute("SELECT pg_sleep(60)"))
        await until(lambda: tx.lent.info.transaction_status == TransactionStatus.ACTIVE)
        sleeping.cancel()
        await asyncio.sleep(0)
        sleeping.cancel()
        await asyncio.wait([sleeping])
        assert tx.lent.info.transaction_status == TransactionStatus.ACTIVE
        raise TimeoutError

    await failed_for_good(bank, kind, work)
    assert count_notes(kind_url) == 1


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
class TestLeftUnderWay:
    async def test_a_statement_hides_no_commit(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            await raw(tx, "COMMIT; BEGIN")
            tx.lent.pgconn.send_query(b"SELECT pg_sleep(60)")
            raise RuntimeError("in the middle")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == 1

    async def test_nor_if_the_first_cancel_overtakes_it(
        self, bank: Duetime, kind: Kind, kind_url: str
    ) -> None:
        """The server then has nothing to cancel, and begins the statement afterwards."""

        async def work(tx: HandlerTransaction) -> None:
            def overtake(*, timeout: float) -> None:
                del tx.lent.cancel_safe

            async def overtake_awaited(*, timeout: float) -> None:
                overtake(timeout=timeout)

            await tx.execute(INSERT)
            await raw(tx, "COMMIT; BEGIN")
            tx.lent.pgconn.send_query(b"SELECT pg_sleep(60)")
            tx.lent.cancel_safe = overtake if kind.blocking else overtake_awaited
            raise RuntimeError("in the middle")

        await failed_for_good(bank, kind, work)
        assert count_notes(kind_url) == 1

    @pytest.mark.parametrize("sql", ["SELECT pg_sleep(60)", "COPY notes TO STDOUT"])
    async def test_nothing_committed_is_an_ordinary_failure(
        self, bank: Duetime, kind: Kind, kind_url: str, sql: str
    ) -> None:
        async def work(tx: HandlerTransaction) -> None:
            await tx.execute(INSERT)
            if tx.context.attempt < 3:
                tx.lent.pgconn.send_query(sql.encode())
                raise RuntimeError("in the middle")

        kind.declare(bank, work, retry=THREE_RETRIES)
        finished = await run(bank, await bank.schedule(Note()))
        assert (finished.state, finished.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)


@pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
@pytest.mark.parametrize("rows", [2, 3_000_000])
async def test_a_stream_that_is_left_in_the_middle_is_closed_and_the_run_retried(
    bank: Duetime, kind: Kind, kind_url: str, rows: int
) -> None:
    """Closing a stream reads the connection, too."""

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        if tx.context.attempt < 3:
            found = tx.lent.cursor().stream(f"SELECT generate_series(1, {rows})")
            if kind.blocking:
                for _ in found:
                    raise RuntimeError("in the middle")
            async for _ in found:
                raise RuntimeError("in the middle")

    kind.declare(bank, work, retry=THREE_RETRIES)
    finished = await run(bank, await bank.schedule(Note()))
    assert (finished.state, finished.attempt, count_notes(kind_url)) == (State.succeeded, 3, 1)


@pytest.mark.parametrize("kind_name", ["async-psycopg"], indirect=True)
async def test_a_stream_that_closes_slowly_is_waited_for(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    """On a busy machine the event loop takes seconds to read what the server has sent."""

    async def rows(tx: HandlerTransaction) -> AsyncIterator[Any]:
        stream = tx.lent.cursor().stream("SELECT generate_series(1, 1000)")
        try:
            async for row in stream:
                yield row
        finally:
            await wait_for_server(kind_url)
            await stream.aclose()

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        if tx.context.attempt < 2:
            async for _ in rows(tx):
                raise RuntimeError("in the middle")

    kind.declare(bank, work, retry=THREE_RETRIES)
    finished = await run(bank, await bank.schedule(Note()))
    assert (finished.state, finished.attempt) == (State.succeeded, 2), finished.error
    assert count_notes(kind_url) == 1


async def wait_for_server(url: str) -> None:
    """Longer than a connection whose stream is closed gets before it is severed."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute("SELECT pg_sleep(1.5)")
