"""However a transactional run finishes, it leaves nothing behind and blocks no other run."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest
from psycopg.types.string import StrDumper
from sqlalchemy import create_engine, event, text
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note
from duetime import Context, Depends, Duetime, Fail, Retry, State
from duetime.model.actions.action import Action


async def run(app: Duetime) -> Action:
    action = await app.schedule(Note())
    async with app.worker():
        return await app.wait(action.id, timeout=20)


def count_effects(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM effects").fetchone()
    assert found is not None
    return int(found[0])


@pytest.fixture
def effects_url(postgres_url: str) -> str:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE effects (n integer)")
    return postgres_url


class TestCommitThatFails:
    async def test_a_constraint_checked_at_the_commit_of_sqlite(self, sqlite_path: Path) -> None:
        engine = create_engine(f"sqlite:///{sqlite_path}")
        event.listen(
            engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = ON")
        )
        with engine.begin() as setup:
            setup.execute(text("CREATE TABLE parents (id integer PRIMARY KEY)"))
            setup.execute(
                text(
                    "CREATE TABLE effects (n integer REFERENCES parents (id)"
                    " DEFERRABLE INITIALLY DEFERRED)"
                )
            )
        app = Duetime(f"sqlite:///{sqlite_path}", sessions=sessionmaker(engine))

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, session: Session) -> None:
            session.execute(text("INSERT INTO effects VALUES (1)"))

        async with app:
            finished = await run(app)
        assert finished.state is State.failed
        assert "FOREIGN KEY" in str(finished.error)
        engine.dispose()

    async def test_a_listener_that_objects(self, effects_url: str) -> None:
        engine = create_engine(effects_url.replace("postgresql", "postgresql+psycopg"))
        maker = sessionmaker(engine)

        @event.listens_for(maker, "before_commit")
        def object_to_it(session: Session) -> None:
            raise ValueError("an invariant is broken")

        app = Duetime(effects_url, sessions=maker)

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, session: Session) -> None:
            session.execute(text("INSERT INTO effects VALUES (1)"))

        async with app:
            finished = await run(app)
        assert (finished.state, count_effects(effects_url)) == (State.failed, 0)
        engine.dispose()

    async def test_a_block_that_the_handler_left_open(self, effects_url: str) -> None:
        app = Duetime(effects_url)
        blocks: list[Any] = []

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            connection.execute("INSERT INTO effects VALUES (1)")
            blocks.append(connection.transaction())
            blocks[0].__enter__()

        async with app:
            finished = await run(app)
        assert (finished.state, count_effects(effects_url)) == (State.failed, 0)


class TestStream:
    """A stream that a handler left half read and that a reference keeps open."""

    async def test_of_an_async_connection(self, effects_url: str) -> None:
        app, kept = Duetime(effects_url, timeout=1), []

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        async def handle(note: Note, connection: psycopg.AsyncConnection[Any]) -> None:
            await connection.execute("INSERT INTO effects VALUES (1)")
            kept.append(connection.cursor().stream("SELECT generate_series(1, 1000000)"))
            await anext(kept[0])

        async with app:
            finished = await run(app)
        assert (finished.state, count_effects(effects_url)) == (State.failed, 0)
        assert "close the stream" in str(finished.error)

    async def test_of_a_blocking_connection(self, effects_url: str) -> None:
        app, kept = Duetime(effects_url, timeout=1), []

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            connection.execute("INSERT INTO effects VALUES (1)")
            kept.append(connection.cursor().stream("SELECT generate_series(1, 1000000)"))
            next(kept[0])

        async with app:
            finished = await run(app)
        assert (finished.state, count_effects(effects_url)) == (State.failed, 0)
        assert "close the stream" in str(finished.error)


class TestSession:
    @pytest.mark.parametrize("how", ["rollback", "close", "with"])
    async def test_a_session_that_the_handler_closed_fails_for_good(
        self, effects_url: str, how: str
    ) -> None:
        engine = create_engine(effects_url.replace("postgresql", "postgresql+psycopg"))
        app = Duetime(effects_url, sessions=sessionmaker(engine))

        @app.handler(kind="note", transactional=True, retry=Retry(delays=[0, 0]))
        def handle(note: Note, session: Session) -> None:
            session.execute(text("INSERT INTO effects VALUES (1)"))
            if how == "with":
                with session:
                    pass
            else:
                getattr(session, how)()

        async with app:
            finished = await run(app)
        assert (finished.state, finished.attempt) == (State.failed, 1)
        assert "duetime commits it" in str(finished.error)
        engine.dispose()


class TestConnection:
    async def test_the_next_handler_sees_nothing_of_the_last(self, effects_url: str) -> None:
        app = Duetime(effects_url, pool_size=1)
        seen: list[Any] = []

        @app.handler(kind="note", transactional=True)
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            query = "SELECT current_setting('statement_timeout'), count(*) FROM pg_locks"
            mine = "locktype = 'advisory' AND pid = pg_backend_pid()"
            seen.append(connection.execute(f"{query} WHERE {mine}").fetchone())
            connection.execute("SET statement_timeout = '7s'")
            connection.execute("SELECT pg_advisory_lock(5)")
            connection.execute("CREATE TEMPORARY TABLE mine (n integer)")
            connection.execute("DECLARE cursor CURSOR WITH HOLD FOR SELECT 1")
            connection.execute("PREPARE plan AS SELECT 1")
            connection.execute("LISTEN somewhere")

        async with app:
            assert (await run(app)).state == (await run(app)).state == State.succeeded
        assert seen == [("0", 0), ("0", 0)]

    async def test_it_is_reset_whatever_driver_options_the_last_handler_set(
        self, effects_url: str
    ) -> None:
        app = Duetime(effects_url, pool_size=1)
        seen: list[Any] = []

        class Loud(StrDumper):
            def dump(self, obj: str) -> Any:
                return super().dump(obj.upper())

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            seen.append(connection.execute("SHOW statement_timeout").fetchone())
            connection.prepare_threshold = 0
            connection.execute("SET statement_timeout = '7s'")
            connection.adapters.register_dumper(str, Loud)

        async with app:
            finished = [await run(app) for _ in range(4)]
        assert {action.state for action in finished} == {State.succeeded}
        assert seen == [("0",)] * 4

    async def test_a_session_that_lost_its_plans_costs_no_attempt(self, effects_url: str) -> None:
        app = Duetime(effects_url, pool_size=1)

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            connection.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")

        async with app:
            finished = [await run(app) for _ in range(4)]
        assert [(action.state, action.attempt) for action in finished] == [(State.succeeded, 1)] * 4

    async def test_its_completion_is_planned_once(self, effects_url: str) -> None:
        app = Duetime(effects_url, pool_size=1)
        kept: list[int] = []

        @app.handler(kind="note", transactional=True)
        async def handle(note: Note, connection: psycopg.AsyncConnection[Any]) -> None:
            found = await connection.execute("SELECT count(*) FROM pg_prepared_statements")
            kept.extend(row[0] for row in await found.fetchall())

        async with app:
            for _ in range(4):
                await run(app)
        # The first completion asks for the backend process; the next one prepares its statements.
        assert kept == [0, 0, 2, 2]

    async def test_a_run_that_waits_for_a_connection_has_not_begun(self, effects_url: str) -> None:
        """The second run gets the only connection after the first run timed out."""
        app = Duetime(effects_url, pool_size=1)
        late: list[tuple[bool, bool]] = []

        @app.handler(kind="note", transactional=True, timeout=0.3, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any], context: Context) -> None:
            assert context.deadline is not None
            begun = connection.execute("SELECT clock_timestamp()").fetchone()
            assert begun is not None
            late.append((context.cancelled, begun[0] > context.deadline))
            while not context.cancelled:
                threading.Event().wait(0.005)

        async with app:
            actions = [await app.schedule(Note()) for _ in range(2)]
            async with app.worker():
                for action in actions:
                    await app.wait(action.id, timeout=20)
        assert late == [(False, False), (False, False)]

    async def test_a_thread_that_outlives_its_worker_keeps_its_transaction(
        self, effects_url: str
    ) -> None:
        """A plain function whose dependency is async: it is not run whole in its thread."""
        app = Duetime(effects_url, grace=0.1, lease=5)
        started, stopped, finished = threading.Event(), threading.Event(), threading.Event()

        async def number() -> int:
            return 1

        @app.handler(kind="note", transactional=True)
        def handle(
            note: Note,
            connection: psycopg.Connection[Any],
            context: Context,
            n: Annotated[int, Depends(number)],
        ) -> None:
            connection.execute("INSERT INTO effects VALUES (1)")
            started.set()
            assert stopped.wait(20)
            connection.execute("INSERT INTO effects VALUES (2)")
            finished.set()

        async with app:
            action = await app.schedule(Note())
            async with app.worker():
                await happens(started)
            assert count_effects(effects_url) == 0
            stopped.set()
            await happens(finished)
            after = await app.wait(action.id, timeout=20)
        # The run completed after all, as a whole.
        assert (after.state, count_effects(effects_url)) == (State.succeeded, 2)

    async def test_what_the_handler_chose_stands_although_its_connection_broke(
        self, effects_url: str
    ) -> None:
        app = Duetime(effects_url)

        @app.handler(kind="note", transactional=True)
        def handle(note: Note, connection: psycopg.Connection[Any]) -> None:
            connection.close()
            raise Fail("card declined")

        async with app:
            finished = await run(app)
        assert (finished.state, finished.error, finished.losses) == (
            State.failed,
            "card declined",
            0,
        )

    @pytest.mark.parametrize("commits", [False, True])
    async def test_a_completion_that_meets_a_lock_costs_no_attempt(
        self, effects_url: str, commits: bool
    ) -> None:
        """The lock is released after the conflict. A handler that committed is not run again."""
        app = Duetime(effects_url, timeout=2)
        holding: list[psycopg.Connection[Any]] = []

        class ReleaseLock(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if record.levelno >= logging.WARNING:
                    holding[0].rollback()

        @app.handler(kind="note", transactional=True, retry=Retry.none())
        def handle(note: Note, connection: psycopg.Connection[Any], context: Context) -> None:
            connection.execute("INSERT INTO effects VALUES (1)")
            if not holding:
                holding.append(psycopg.connect(effects_url))
                app.sync.cancel(context.action_id, running=True, connection=holding[0])
            if commits:
                connection.pgconn.exec_(b"COMMIT; BEGIN")

        release = ReleaseLock()
        logging.getLogger("duetime.worker").addHandler(release)
        async with app:
            finished = await run(app)
            outcomes = [run.outcome for run in await app.runs(finished.id)]
        logging.getLogger("duetime.worker").removeHandler(release)
        holding[0].close()
        state, expected = (
            (State.failed, ["failed"]) if commits else (State.succeeded, ["released", "succeeded"])
        )
        assert (finished.state, finished.attempt, count_effects(effects_url)) == (state, 1, 1)
        assert outcomes == expected


async def test_progress_on_sqlite_does_not_wait_for_the_handler_itself(sqlite_path: Path) -> None:
    app = Duetime(f"sqlite:///{sqlite_path}", timeout=1)

    @app.handler(kind="note", transactional=True, retry=Retry.none())
    def handle(note: Note, connection: sqlite3.Connection, context: Context) -> None:
        context.sync_progress(0.5)

    async with app:
        finished = await run(app)
    assert (finished.state, finished.progress) == (State.succeeded, 0.5)


async def happens(what: threading.Event) -> None:
    assert await asyncio.to_thread(what.wait, 20)
