"""A SQLite file that is deleted, replaced or moved while a process has it open."""

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from duetime.errors import StoreUnavailable
from duetime.model.filter import Filter
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.transaction import TransactionFactory
from polling import until
from store.postgres_helpers import new


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "shop.db"


@pytest_asyncio.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store with one action in it."""
    store = SqliteStore(path, timeout=0.5)
    await add(store)
    yield store
    await store.aclose()


async def add(store: SqliteStore) -> None:
    await store.perform(store.add([new()], "return"))


async def count(store: SqliteStore) -> int:
    found = await store.perform(store.find(Filter()))
    return len(found)


async def refuses(store: SqliteStore) -> bool:
    try:
        await add(store)
    except StoreUnavailable:
        return True
    return False


def beside(path: Path, *suffixes: str) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in suffixes]


def delete(path: Path) -> None:
    for file in beside(path, "", "-wal", "-shm"):
        file.unlink()


def back_up(path: Path) -> Path:
    copy = path.with_name("backup.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def restore(path: Path) -> None:
    copy = back_up(path)
    delete(path)
    copy.rename(path)


def begin_anew(path: Path) -> None:
    delete(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (body TEXT)")


LOSSES: dict[str, Callable[[Path], Any]] = {
    "deleted": delete,
    "only the database deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_name("elsewhere.db")),
    "restored from a backup": restore,
    "replaced by another database": begin_anew,
    "its directory deleted": lambda path: shutil.rmtree(path.parent),
    "its directory moved": lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
    "its log deleted": lambda path: beside(path, "-wal")[0].unlink(),
    "its index deleted": lambda path: beside(path, "-shm")[0].unlink(),
}


def move(path: Path, to: Path) -> None:
    path.rename(to)


def lead(link: Path, to: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(to)


def listed(path: Path) -> list[Path]:
    return sorted(path.parent.parent.rglob("*"))


@pytest.mark.parametrize("loss", LOSSES)
async def test_everything_is_refused_and_nothing_is_made_anew(
    store: SqliteStore, path: Path, loss: str, caplog: pytest.LogCaptureFixture
) -> None:
    LOSSES[loss](path)
    files = listed(path)
    await until(lambda: refuses(store))
    with pytest.raises(StoreUnavailable, match=r"shop\.db.* while this process had it open"):
        await count(store)
    with pytest.raises(StoreUnavailable, match="Stop all processes that use"):
        await asyncio.to_thread(store.perform_blocking, store.find(Filter()))
    assert listed(path) == files
    [line] = [record for record in caplog.records if record.name == "duetime.store"]
    assert line.levelno == logging.WARNING
    assert "start them again" in line.getMessage()


async def test_a_database_that_is_moved_back_is_used_again(
    store: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duetime.store")
    move(path, path.with_name("elsewhere.db"))
    added = 1
    while not await refuses(store):
        added += 1
    assert await refuses(store)
    move(path.with_name("elsewhere.db"), path)
    assert await count(store) == added
    await add(store)
    assert await count(store) == added + 1
    assert "is in its place" in caplog.records[-1].getMessage()


async def test_a_backup_is_used_by_a_process_that_starts_then(
    store: SqliteStore, path: Path
) -> None:
    restore(path)
    await until(lambda: refuses(store))
    other = SqliteStore(path)
    assert await count(other) == 1
    await other.aclose()
    assert await refuses(store)
    # An app that is closed begins as a new process does.
    await store.aclose()
    assert await count(store) == 1


@pytest.mark.parametrize("parts", [["-wal"], ["-shm"], ["-wal", "-shm"]])
async def test_what_a_deleted_log_held_is_saved_by_the_last_process_that_stops(
    store: SqliteStore, path: Path, parts: list[str]
) -> None:
    for _ in range(20):
        await add(store)
    for part in beside(path, *parts):
        part.unlink()
    await until(lambda: refuses(store))
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        ((found,),) = connection.execute("SELECT count(*) FROM duetime_actions").fetchall()
    assert found >= 21


async def test_a_connection_that_failed_is_not_replaced_by_one_to_another_file(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="stayed locked"):
            await add(store)
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(StoreUnavailable, match="was deleted or moved"):
        await add(store)
    assert listed(path) == [path.parent]


async def test_a_relative_path_leads_to_the_same_file_from_another_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    store = SqliteStore("shop.db", timeout=0.5)
    await add(store)
    monkeypatch.chdir(tmp_path)
    await add(store)
    with closing(sqlite3.connect(folder / "shop.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="stayed locked"):
            await add(store)
    assert await count(store) == 2
    await store.aclose()
    assert [file.name for file in listed(folder / "shop.db")] == ["data", "shop.db"]


async def test_a_link_that_leads_elsewhere_now(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "current.db"
    lead(link, folder / "a.db")
    store = SqliteStore(link)
    await add(store)
    lead(link, folder / "b.db")
    files = listed(folder / "a.db")
    await until(lambda: refuses(store))
    assert listed(folder / "a.db") == files
    lead(link, folder / "a.db")
    await add(store)
    await store.aclose()


# -- transactions of handlers, and of callers ----------------------------------------

LENT = [sqlite3.Connection, Session, AsyncSession]


@pytest_asyncio.fixture(params=LENT, ids=lambda lent: lent.__name__)
async def factory(
    request: pytest.FixtureRequest, store: SqliteStore, path: Path
) -> AsyncIterator[TransactionFactory]:
    engine, async_engine = create_engine(f"sqlite:///{path}"), None
    sessions: Any = sessionmaker(engine)
    if request.param is AsyncSession:
        async_engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
        sessions = async_sessionmaker(async_engine)
    factory = store.transaction_factory(request.param, sessions)
    assert factory is not None
    yield factory
    engine.dispose()
    if async_engine is not None:
        await async_engine.dispose()


async def run_here(call: Callable[[], Any]) -> Any:
    return call()


async def test_no_transaction_of_a_handler_makes_a_file(
    store: SqliteStore, factory: TransactionFactory, path: Path
) -> None:
    delete(path)
    await until(lambda: refuses(store))
    transaction = factory.open()
    with pytest.raises(StoreUnavailable, match="was deleted or moved"):
        await transaction.begin(run_here)
    await transaction.close(run_here)
    assert listed(path) == [path.parent]


async def test_no_completion_is_committed_to_a_lost_file(
    store: SqliteStore, factory: TransactionFactory, path: Path
) -> None:
    transaction = factory.open()
    await transaction.begin(run_here)
    restore(path)

    async def is_refused() -> bool:
        try:
            await transaction.joined.perform(store.find(Filter()))
        except StoreUnavailable:
            return True
        return False

    await until(is_refused)
    with pytest.raises(StoreUnavailable, match="was replaced by another file"):
        await transaction.joined.perform_final(store.complete([]))
    await transaction.rollback(run_here)
    await transaction.close(run_here)


async def test_a_callers_connection_to_a_deleted_file_is_refused(
    store: SqliteStore, path: Path
) -> None:
    """Also by a process that never opened the file itself."""
    with closing(sqlite3.connect(path)) as connection:
        for app_store in (store, SqliteStore(path)):
            await app_store.join(connection).perform(store.add([new()], "return"))
        connection.commit()
        delete(path)
        with pytest.raises(StoreUnavailable, match="was deleted or moved"):
            await SqliteStore(path).join(connection).perform(store.add([new()], "return"))
    assert listed(path) == [path.parent]
