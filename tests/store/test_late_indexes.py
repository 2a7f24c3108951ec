"""Indexes that are built without blocking writers: missing, broken, while others write or build."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from uuid import UUID

import psycopg
import pytest

from duetime.model.filter import Filter
from duetime.model.health.checks import schema as check_schema
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements.access import LATE_INDEXES
from polling import until
from store.planned_statements import FILL
from store.postgres_helpers import sessions
from store.test_plans import POSTGRES

ID = UUID(int=1)
INVALID = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"


def names(url: str, where: str = "TRUE") -> set[str]:
    query = f"""
        SELECT c.relname FROM pg_index AS i INNER JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE c.relname LIKE 'duetime_%' AND {where}
    """
    with psycopg.connect(url) as connection:
        found = connection.execute(query.encode()).fetchall()
    return {str(name).removeprefix("duetime_") for (name,) in found}


@pytest.fixture
def new_store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    store.migrate_blocking()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for index in LATE_INDEXES:
            connection.execute(f"DROP INDEX IF EXISTS duetime_{index}".encode())
    yield store
    store.close()


def test_client_verbs_work_without_them_and_build_none(
    new_store: PostgresStore, postgres_url: str
) -> None:
    page = new_store.perform_blocking(new_store.find(Filter(tenant="a", search="k")))
    assert len(page) == 0
    assert not names(postgres_url) & LATE_INDEXES
    schema = new_store.diagnose().schema
    assert schema is not None
    assert {name.removeprefix("duetime_") for name in schema.missing_indexes} == LATE_INDEXES
    assert "duetime_history_tenant" in check_schema(schema, "duetime migrate").figure


def test_all_are_built_and_then_found(new_store: PostgresStore, postgres_url: str) -> None:
    assert asyncio.run(new_store.build_indexes())
    assert names(postgres_url, "i.indisvalid") >= LATE_INDEXES
    assert asyncio.run(new_store.build_indexes())
    schema = new_store.diagnose().schema
    assert schema is not None
    assert schema.missing_indexes == ()


def test_what_a_killed_build_left_behind_is_built_anew(
    new_store: PostgresStore, postgres_url: str
) -> None:
    """A build waits for a transaction that began before; its backend is killed there."""
    failures: list[BaseException] = []

    def build() -> None:
        try:
            asyncio.run(new_store.build_indexes())
        except Exception as error:  # noqa: BLE001 - checked below
            failures.append(error)

    with writer(postgres_url):
        thread = threading.Thread(target=build)
        thread.start()
        await_invalid(postgres_url)
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE "
                "'CREATE INDEX CONCURRENTLY%' AND pid <> pg_backend_pid()"
            )
        thread.join(30)
    assert failures
    assert names(postgres_url, "NOT i.indisvalid")
    assert asyncio.run(new_store.build_indexes())
    assert names(postgres_url, "i.indisvalid") >= LATE_INDEXES


async def test_a_cancelled_build_is_taken_up_again(
    new_store: PostgresStore, postgres_url: str
) -> None:
    with writer(postgres_url):
        build = asyncio.create_task(new_store.build_indexes())
        await asyncio.to_thread(await_invalid, postgres_url)
        build.cancel()
        await asyncio.wait([build])
    assert build.cancelled()
    assert await new_store.build_indexes()
    assert names(postgres_url, "i.indisvalid") >= LATE_INDEXES


async def test_a_build_that_is_cancelled_twice_leaves_no_connection(
    new_store: PostgresStore, postgres_url: str
) -> None:
    """A stopping worker cancels it, and so does its service, perhaps while it cleans up."""
    await new_store.build_indexes()
    for turns, pause in product(range(40, 120), (1, 3, 5)):
        build = asyncio.create_task(new_store.build_indexes())
        await let_run(turns)
        build.cancel()
        await let_run(pause)
        build.cancel()
        await asyncio.wait([build])
    await new_store.aclose()
    await until(lambda: sessions(postgres_url) == 0)
    # Warns of a connection that was forgotten while open; here, warnings are errors.
    gc.collect()


async def let_run(turns: int) -> None:
    """Let other tasks run for so many turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_only_one_process_builds(new_store: PostgresStore, postgres_url: str) -> None:
    other = PostgresStore(postgres_url)
    with writer(postgres_url):
        build = asyncio.create_task(new_store.build_indexes())
        await asyncio.to_thread(await_invalid, postgres_url)
        assert not await other.build_indexes()
    assert await build
    await other.aclose()


async def test_migrate_false_leaves_them_to_an_operator(
    new_store: PostgresStore, postgres_url: str
) -> None:
    strict = PostgresStore(postgres_url, migrate=False)
    assert await strict.build_indexes()
    assert not names(postgres_url) & LATE_INDEXES
    assert await strict.build_indexes(by_operator=True)
    assert names(postgres_url) >= LATE_INDEXES
    await strict.aclose()


# The schema of the oldest code that may go on beside an upgrade.
OLD_SCHEMA = 3


# On a busy machine the process that upgrades may itself have to wait while it holds a lock.
@pytest.mark.parametrize(
    ("rows", "patience"),
    [(50_000, "1s"), pytest.param(1_000_000, "100ms", marks=pytest.mark.soak)],
)
def test_no_writer_waits_for_a_lock(postgres_url: str, rows: int, patience: str) -> None:
    """While tables with rows are upgraded and indexed, no write waits longer for a lock."""
    store = PostgresStore(postgres_url)
    fill_old_schema(postgres_url, store, rows)
    upgrading = threading.Thread(target=lambda: upgrade(store))
    upgrading.start()
    writes = 0
    while upgrading.is_alive():
        write_with_impatience(postgres_url, patience)
        writes += 1
    upgrading.join()
    assert names(postgres_url, "i.indisvalid") >= LATE_INDEXES
    assert writes > 1
    store.close()


def test_writers_get_through_while_a_migration_waits(postgres_url: str) -> None:
    """A lock that is waited for keeps out all who come later: it is given up soon."""
    store = PostgresStore(postgres_url)
    fill_old_schema(postgres_url, store, 100)
    with psycopg.connect(postgres_url) as reader:
        reader.execute("SELECT count(*) FROM duetime_actions")
        upgrading = threading.Thread(target=lambda: upgrade(store))
        upgrading.start()
        await_waiting(postgres_url)
        for _ in range(20):
            write_with_impatience(postgres_url, "1s")
        assert upgrading.is_alive()
    upgrading.join()
    assert store.pending() == []
    store.close()


def await_waiting(url: str) -> None:
    """Wait until some session waits for a lock."""
    waiting = b"SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(waiting).fetchone() == (False,):
            connection.execute("SELECT pg_sleep(0.001)")


def fill_old_schema(url: str, store: PostgresStore, rows: int) -> None:
    with psycopg.connect(url) as connection:
        for migration in store._loader.migrations()[:OLD_SCHEMA]:
            for statement in migration.statements:
                connection.execute(statement.encode())
        series = POSTGRES["series"].format(rows=rows)
        for table in ("actions", "history", "audit"):
            text = FILL[table].format(id=POSTGRES["id"], series=series)
            connection.execute(text.encode())


def upgrade(store: PostgresStore) -> None:
    store.migrate_blocking()
    assert asyncio.run(store.build_indexes())


def test_a_lock_that_blocks_writers_would_be_caught(
    new_store: PostgresStore, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE INDEX other ON duetime_history (queue)")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            write_with_impatience(postgres_url)


def write_with_impatience(url: str, patience: str = "100ms") -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET lock_timeout = '{patience}'".encode())
        for table in ("actions", "history"):
            connection.execute(f"UPDATE duetime_{table} SET tick = 1 WHERE id = %s".encode(), [ID])


@contextmanager
def writer(url: str) -> Iterator[None]:
    """A transaction that has written, for whose end a build waits."""
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM duetime_actions")
        connection.execute("DELETE FROM duetime_history")
        yield
        connection.rollback()


def await_invalid(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(INVALID).fetchone() == (0,):
            connection.execute("SELECT pg_sleep(0.01)")
