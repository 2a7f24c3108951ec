"""Transactional handlers of a module-level app inside `app.testing.override`."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import StaticPool

from api.apps import Note, Other
from duetime import Duetime, Retry, State
from duetime.errors import ConfigError
from duetime.testing import FakeClock
from joining.transaction_kinds import (
    INSERT,
    KINDS,
    ON_SQLITE,
    HandlerTransaction,
    Kind,
    make_notes,
)

OWN_URL = "postgresql://nowhere/shop"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(*KINDS[request.param])


@pytest.fixture
def test_url(request: pytest.FixtureRequest, kind: Kind, tmp_path: Path) -> str:
    """A database of the test, with a table of notes."""
    if (kind.type, kind.driver) in ON_SQLITE.values():
        url = f"sqlite:///{tmp_path}/test.db"
    else:
        url = request.getfixturevalue("postgres_url")
    make_notes(url)
    return url


def declared(kind: Kind, tmp_path: Path, work: Any) -> Duetime:
    """An app whose own database, and own sessions, no test may touch."""
    on_sqlite = (kind.type, kind.driver) in ON_SQLITE.values()
    own = f"sqlite:///{tmp_path}/own.db" if on_sqlite else OWN_URL

    def no_sessions() -> Any:
        raise AssertionError("a test has used the app's own sessions")

    app = Duetime(own, sessions=no_sessions)
    app.payload(Other, kind="other")
    kind.declare(app, work, retry=Retry.none())
    return app


def options(kind: Kind, url: str) -> dict[str, Any]:
    """Sessions say where the store is; connections need its URL."""
    return {"sessions": kind.sessions(url)} if kind.driver else {"url": url}


async def test_work_and_completion_are_one_in_the_database_of_the_test(
    kind: Kind, test_url: str, tmp_path: Path
) -> None:
    async def work(transaction: HandlerTransaction) -> str:
        await transaction.execute(INSERT)
        await transaction.verb("schedule", Other(1), delay=3600)
        if (await transaction.verb("get", transaction.context.action_id)).key == "fails":
            raise RuntimeError("rolled back")
        return "done"

    app = declared(kind, tmp_path, work)
    async with app.testing.override(clock=FakeClock(), **options(kind, test_url)):
        good = await app.schedule(Note(), delay=60)
        bad = await app.schedule(Note(), delay=60, key="fails")
        assert await app.testing.advance(60) == 2
        assert (await app.get(good.id)).result == "done"
        failed = await app.get(bad.id)
        assert (failed.state, failed.error) == (State.failed, "RuntimeError: rolled back")
        await app.testing.assert_scheduled(Other, count=1)
    assert not (tmp_path / "own.db").exists()
    await kind.close()


async def test_a_worker_inside_uses_them_too(kind: Kind, test_url: str, tmp_path: Path) -> None:
    async def work(transaction: HandlerTransaction) -> None:
        await transaction.execute(INSERT)

    app = declared(kind, tmp_path, work)
    async with app.testing.override(**options(kind, test_url)):
        action = await app.schedule(Note())
        async with app.worker():
            assert (await app.wait(action.id, timeout=10)).state is State.succeeded
    await kind.close()


async def test_a_temporary_file_is_enough_for_sqlite3(tmp_path: Path) -> None:
    seen: list[Any] = []
    app = Duetime(f"sqlite:///{tmp_path}/own.db")

    @app.handler(kind="note", transactional=True)
    def note(payload: Note, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE mine (x)")
        seen.append(connection.execute("PRAGMA database_list").fetchall())

    for _ in range(2):
        with app.testing.override(url="sqlite://"):
            action = await app.schedule(Note())
            assert await app.testing.drain() == 1
            assert (await app.get(action.id)).state is State.succeeded
    assert len(seen) == 2
    # Afterwards the handler runs on the app's own store again.
    await app.schedule(Note())
    assert await app.testing.drain() == 1
    assert str(tmp_path / "own.db") in str(seen[-1])
    await app.aclose()


# -- refused -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqlite3", "Session-sqlite"])
@pytest.mark.parametrize("url", [None, "memory://"])
async def test_a_store_without_transactions_names_the_remedy(
    name: str, url: str | None, tmp_path: Path
) -> None:
    async def work(transaction: HandlerTransaction) -> None: ...

    app = declared(Kind(*KINDS[name]), tmp_path, work)
    with app.testing.override(url=url):
        await app.schedule(Note())
        remedy = {"sqlite3": 'url="sqlite://"'}.get(name, "sessions=sessionmaker(test_engine)")
        with pytest.raises(ConfigError, match=rf"'note' cannot run here: .*{re.escape(remedy)}"):
            await app.testing.drain()


async def test_the_app_s_own_sessions_are_never_used(tmp_path: Path) -> None:
    async def work(transaction: HandlerTransaction) -> None: ...

    app = declared(Kind(Session, "pysqlite"), tmp_path, work)
    with app.testing.override(url="sqlite://"):
        await app.schedule(Note())
        with pytest.raises(ConfigError, match=r"needs to know your engine.*override\(sessions="):
            await app.testing.drain()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_sessions_in_memory_are_refused(tmp_path: Path, url: str) -> None:
    async def work(transaction: HandlerTransaction) -> None: ...

    app = declared(Kind(Session, "pysqlite"), tmp_path, work)
    engine = create_engine(url, poolclass=StaticPool)
    before = app.runtime
    with (
        pytest.raises(ConfigError, match="a database in memory that other connections cannot see"),
        app.testing.override(sessions=sessionmaker(engine)),
    ):
        pass
    assert app.runtime is before
    engine.dispose()


async def test_a_handler_declared_inside_is_one_of_the_app_s_own_store(tmp_path: Path) -> None:
    """As a module that only a test imports: memory would refuse it for good."""
    app = Duetime(f"sqlite:///{tmp_path}/own.db")
    with app.testing.override():

        @app.handler(kind="note", transactional=True)
        def note(payload: Note, connection: sqlite3.Connection) -> str:
            return "ran"

    with app.testing.override(url="sqlite://"):
        action = await app.schedule(Note())
        await app.testing.drain()
        assert (await app.get(action.id)).result == "ran"


async def test_the_remedy_is_for_the_transaction_that_the_handler_asks_for(tmp_path: Path) -> None:
    async def work(transaction: HandlerTransaction) -> None: ...

    app = declared(Kind(AsyncSession, "aiosqlite"), tmp_path, work)
    with app.testing.override():
        await app.schedule(Note())
        with pytest.raises(ConfigError) as caught:
            await app.testing.drain()
    assert "override(sessions=async_sessionmaker(test_engine))" in str(caught.value)
    assert "sqlite3" not in str(caught.value)
