"""Connections that cannot be joined are refused by name, and their transaction goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from api.apps import Note, with_payloads
from duetime import Duetime
from duetime.errors import ConfigError, StoreUnavailable
from joining.callers import CALLERS, COUNT, INSERT, NOTES, ON_SQLITE, Caller
from servers import Server


@pytest.fixture
def other_url(request: pytest.FixtureRequest, caller_name: str, tmp_path: Path) -> Iterator[str]:
    """Another database of the same kind, without our tables."""
    if caller_name in ON_SQLITE:
        yield f"sqlite:///{tmp_path / 'other.db'}"
        return
    server: Server = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield server.database_url(name)
    server.drop_database(name)


class TestAnotherDatabase:
    @pytest.mark.parametrize("with_tables", [False, True])
    async def test_it_is_refused_and_the_callers_transaction_goes_on(
        self,
        app: Duetime,
        caller_name: str,
        other_url: str,
        with_tables: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        other = with_payloads(Duetime(other_url))
        if with_tables:
            await other.find()
        caller = CALLERS[caller_name](other_url)
        await caller.begin()
        await caller.execute(NOTES)
        await caller.execute(INSERT)
        with pytest.raises(ConfigError, match=r"leads to .* duetime's actions are in"):
            await caller.call(app, "schedule", Note())
        await caller.commit()
        assert await caller.execute(COUNT) == 1
        await caller.close()
        assert list(await app.find()) == []
        await other.aclose()

    def test_a_database_of_another_kind_is_refused(
        self, postgres_url: str, sqlite_path: Path
    ) -> None:
        app, lite = (
            with_payloads(Duetime(postgres_url)),
            with_payloads(Duetime(f"sqlite:///{sqlite_path}")),
        )
        with closing(sqlite3.connect(":memory:")) as mine:
            with pytest.raises(ConfigError, match="SQLite"):
                app.sync.schedule(Note(), connection=mine)
            with pytest.raises(ConfigError, match="in memory"):
                lite.sync.schedule(Note(), connection=mine)
        with psycopg.connect(postgres_url) as theirs, pytest.raises(ConfigError, match="Postgre"):
            lite.sync.schedule(Note(), connection=theirs)
        app.sync.close()
        lite.sync.close()


class TestUnknown:
    @pytest.mark.parametrize("connection", ["a string", object(), 5, sqlite3])
    def test_an_unknown_object_is_refused_with_a_list_of_supported_libraries(
        self, sqlite_path: Path, connection: Any
    ) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        with pytest.raises(ConfigError, match=r"AsyncSession.*Django.*asyncpg"):
            app.sync.schedule(Note(), connection=connection)
        app.sync.close()

    def test_memory_has_no_transaction_to_join(self, memory_app: Duetime) -> None:
        with (
            closing(sqlite3.connect(":memory:")) as mine,
            pytest.raises(ConfigError, match="MemoryStore cannot join"),
        ):
            memory_app.sync.schedule(Note(), connection=mine)

    async def test_an_async_connection_is_not_for_blocking_verbs(self, sqlite_path: Path) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        engine = create_async_engine(f"sqlite+aiosqlite:///{sqlite_path}")
        async with AsyncSession(engine) as session:
            with pytest.raises(ConfigError, match="await app"):
                app.sync.schedule(Note(), connection=session)
        await engine.dispose()
        await app.aclose()

    async def test_django_is_for_blocking_verbs(
        self, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        caller: Caller = CALLERS["django-sqlite"](f"sqlite:///{sqlite_path}")
        await caller.begin(autocommit=True)
        with pytest.raises(ConfigError, match=r"app\.sync"):
            await app.schedule(Note(), connection=caller.connection)
        await caller.close()
        await app.aclose()

    def test_the_error_for_a_session_without_an_engine_names_the_remedy(
        self, sqlite_path: Path
    ) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        with Session() as session, pytest.raises(ConfigError, match="bind_arguments"):
            app.sync.schedule(Note(), connection=session)
        app.sync.close()


class TestSqlite:
    """An SQLite file has one writer at a time, which may be the caller."""

    def test_the_first_use_of_a_file_may_be_a_callers_transaction(self, sqlite_path: Path) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        with closing(sqlite3.connect(sqlite_path)) as mine:
            mine.execute(NOTES)
            mine.execute(INSERT)
            action = app.sync.schedule(Note(), connection=mine)
            mine.rollback()
            second = app.sync.schedule(Note(), connection=mine)
            mine.commit()
        assert action.id != second.id
        assert [action.id for action in app.sync.find()] == [second.id]
        app.sync.close()

    def test_tables_may_not_be_made_where_that_is_forbidden(self, sqlite_path: Path) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}", migrate=False))
        with closing(sqlite3.connect(sqlite_path)) as mine:
            with pytest.raises(ConfigError, match="duetime migrate"):
                app.sync.schedule(Note(), connection=mine)
            assert mine.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)

    def test_holding_the_write_lock_without_connection_names_the_remedy(
        self, sqlite_path: Path
    ) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}", timeout=0.2))
        app.sync.find()
        with closing(sqlite3.connect(sqlite_path)) as mine:
            mine.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="connection="):
                app.sync.schedule(Note())
            mine.rollback()
        app.sync.close()


class TestScopedSession:
    def test_it_stands_for_the_session_of_this_thread(self, sqlite_path: Path) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        engine = create_engine(f"sqlite:///{sqlite_path}")
        registry = scoped_session(sessionmaker(engine))
        action = app.sync.schedule(Note(), connection=registry)
        registry.commit()
        assert app.sync.get(action.id).payload == Note()
        registry.remove()
        engine.dispose()
        app.sync.close()
