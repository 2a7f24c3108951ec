"""Indexes that are built without blocking writers, which PostgreSQL does outside transactions only.

Until they are there, what would go by them is slower. A build that was cut off leaves an invalid
index behind, which is dropped and built again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from duetime.logs import get_log
from duetime.store.flow import Statement, Steps
from duetime.store.sql.postgres.pools import AsyncConnection
from duetime.store.sql.postgres.server import Server
from duetime.store.sql.statements.access import INDEX_BUILDS, LATE_INDEXES
from duetime.store.sql.statements.loader import StatementLoader

log = get_log("duetime.store")

# Nothing waits for a build; a limit on statements, set for a role, would cut each off anew.
_NO_LIMITS = b"SET statement_timeout = 0; SET lock_timeout = 0"
# A transaction holds the lock that does nothing else: a session's could be lost at a pooler. It
# has no snapshot, so that no build waits for it.
_LOCKING = b"BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"


def ready_steps(loader: StatementLoader) -> Steps[frozenset[str]]:
    """Return which of the late indexes can be used."""
    found = yield Statement("late_indexes", _tables(loader))
    return _ready(found, loader)


class LateIndexes:
    """Builds the late indexes of one store, in one process at a time."""

    def __init__(self, server: Server, loader: StatementLoader) -> None:
        self._server = server
        self._loader = loader

    async def build(self) -> bool:
        """Build what is missing; return False if another process is building."""
        async with self._connection() as locking:
            if not await self._missing(locking):
                return True
            await locking.execute(_LOCKING)
            if not await self._lock(locking):
                return False
            async with self._connection() as building:
                await building.execute(_NO_LIMITS)
                await self._build_missing(building)
        return True

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        """Lend a connection, and close it without a rollback, which a worker that stops would
        cancel: then the connection would stay open."""
        connection = await self._server.aconnect()
        try:
            yield connection
        finally:
            connection.pgconn.finish()

    async def _lock(self, connection: AsyncConnection) -> bool:
        # Without parameters: the portal of a statement that has some would keep a snapshot.
        lock = f"SELECT pg_try_advisory_xact_lock({self._loader.names.index_lock})"
        cursor = await connection.execute(lock.encode())
        return bool((await cursor.fetchall())[0][0])

    async def _build_missing(self, connection: AsyncConnection) -> None:
        for index in sorted(await self._missing(connection)):
            log.info("building the index %s without blocking writers", index)
            drop = f"DROP INDEX CONCURRENTLY IF EXISTS {self._loader.names.quoted_index(index)}"
            await connection.execute(drop.encode())
            build = self._loader.sql(Statement(INDEX_BUILDS[index], {}))
            await connection.execute(build.encode())

    async def _missing(self, connection: AsyncConnection) -> frozenset[str]:
        found = await self._fetch(connection, Statement("late_indexes", _tables(self._loader)))
        return LATE_INDEXES - _ready(found, self._loader)

    async def _fetch(self, connection: AsyncConnection, statement: Statement) -> Sequence[Any]:
        text, params = self._loader.bind(statement, None)
        cursor = await connection.execute(text.encode(), params)
        return await cursor.fetchall()


def _tables(loader: StatementLoader) -> dict[str, object]:
    return {f"{table}_table": loader.names.quoted(f"duetime_{table}") for table in _TABLES}


_TABLES = ("actions", "history", "audit")


def _ready(found: Sequence[Any], loader: StatementLoader) -> frozenset[str]:
    """Return the late indexes among the valid ones."""
    prefix = loader.names.prefix
    valid = {cast("str", name).removeprefix(prefix) for name, is_valid in found if is_valid}
    return LATE_INDEXES & valid
