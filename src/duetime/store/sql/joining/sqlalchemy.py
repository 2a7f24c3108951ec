"""Callers with a SQLAlchemy Session or Connection, blocking or async."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from duetime.errors import ConfigError
from duetime.model.store_url import mask_password
from duetime.store.flow import Rows
from duetime.store.sql.drivers import Driven
from duetime.store.sql.joining.base import (
    BlockingCaller,
    Caller,
    Params,
    Render,
    Step,
    TransactionMode,
    async_connection_error,
)
from duetime.store.sql.joining.locks import loop_lock
from duetime.store.sql.joining.sqlite3 import sqlite_transaction_mode
from duetime.store.sql.statements.loader import Dialect, ParamStyle

T = TypeVar("T")

DIALECTS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}
# sqlite3 accepts `:name` too, although SQLAlchemy itself writes `?`.
STYLES: dict[str, ParamStyle] = {
    "pyformat": "pyformat",
    "numeric_dollar": "dollar",
    "qmark": "named",
    "named": "named",
}


class AlchemyCaller(BlockingCaller):
    """Sends statements through SQLAlchemy, which begins its transaction as usual and shows the
    statements to its logs and events."""

    def __init__(self, owner: Session | Connection) -> None:
        self._owner = owner

    @property
    def dialect(self) -> Dialect:
        name = self._connection().dialect.name
        if name not in DIALECTS:
            url = mask_password(repr(self._connection().engine.url))
            raise ConfigError(
                f"connection={url} is to {name}; duetime joins transactions of PostgreSQL and "
                "SQLite"
            )
        return DIALECTS[name]

    @property
    def style(self) -> ParamStyle:
        dialect = self._connection().dialect
        if dialect.paramstyle not in STYLES:
            raise ConfigError(
                f"connection= uses the driver {dialect.driver}, which duetime does not know: use "
                "psycopg, psycopg2, asyncpg, sqlite3 or aiosqlite"
            )
        return STYLES[dialect.paramstyle]

    def source(self) -> object:
        return self._connection().engine

    def owner(self) -> object:
        return self._owner

    def transaction_mode(self) -> TransactionMode:
        connection = self._connection()
        driver: Any = connection.connection.dbapi_connection
        if self.dialect == "sqlite":
            return sqlite_transaction_mode(getattr(driver, "driver_connection", driver))
        return TransactionMode.autocommit if driver.autocommit else TransactionMode.open

    def after_commit(self, call: Callable[[], None]) -> bool:
        if not isinstance(self._owner, Session):
            return False
        CommitCallbacks.of(self._owner).add(self._owner, call)
        return True

    def fetch(self, text: str, params: Params) -> Rows:
        result = self._connection().exec_driver_sql(text, params)
        return result.fetchall() if result.returns_rows else ()

    def _connection(self) -> Connection:
        if isinstance(self._owner, Connection):
            return self._owner
        try:
            return self._owner.connection()
        except UnboundExecutionError:
            raise ConfigError(
                "connection=session is not bound to an engine: pass the connection of the right "
                "engine, session.connection(bind_arguments={'mapper': …})"
            ) from None


class AsyncAlchemyCaller(Caller):
    """An async session or connection, run through SQLAlchemy's `run_sync`."""

    def __init__(self, owner: AsyncSession | AsyncConnection) -> None:
        self._owner = owner
        inner = owner.sync_session if isinstance(owner, AsyncSession) else owner.sync_connection
        if inner is None:
            raise ConfigError(
                "connection=AsyncConnection is not connected yet: `async with engine.begin() as "
                "connection`"
            )
        self._inner = AlchemyCaller(inner)

    @property
    def dialect(self) -> Dialect:
        return self._inner.dialect

    @property
    def style(self) -> ParamStyle:
        return self._inner.style

    def source(self) -> object:
        return self._inner.source()

    def owner(self) -> object:
        return self._owner

    def transaction_mode(self) -> TransactionMode:
        return self._inner.transaction_mode()

    def after_commit(self, call: Callable[[], None]) -> bool:
        return self._inner.after_commit(call)

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        async with loop_lock(self._owner):
            return await self._owner.run_sync(lambda _: self._inner.run_blocking(driven, render))

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        raise async_connection_error(self._owner)


class CommitCallbacks:
    """Calls to make after a session's commit; rolling back a savepoint drops its calls."""

    def __init__(self, session: Session) -> None:
        self._calls: list[tuple[SessionTransaction | None, Callable[[], None]]] = []
        event.listen(session, "after_commit", self._committed)
        event.listen(session, "after_soft_rollback", self._rolled_back)
        event.listen(session, "after_transaction_end", self._closed)

    @classmethod
    def of(cls, session: Session) -> CommitCallbacks:
        callbacks: CommitCallbacks | None = session.info.get(cls)
        if callbacks is None:
            callbacks = session.info[cls] = cls(session)
        return callbacks

    def add(self, session: Session, call: Callable[[], None]) -> None:
        transaction = session.get_nested_transaction() or session.get_transaction()
        self._calls.append((transaction, call))

    def _committed(self, session: Session) -> None:
        if session.in_nested_transaction():
            return  # a savepoint was released, which commits nothing
        calls, self._calls = self._calls, []
        for _, call in calls:
            call()

    def _rolled_back(self, session: Session, rolled_back: SessionTransaction) -> None:
        self._calls = [
            (transaction, call)
            for transaction, call in self._calls
            if rolled_back not in _with_parents(transaction)
        ]

    def _closed(self, session: Session, transaction: SessionTransaction) -> None:
        """Drop the calls: a session closed without a commit reports no rollback either."""
        if transaction.parent is None:
            self._calls = []


def _with_parents(transaction: SessionTransaction | None) -> Iterator[SessionTransaction]:
    """Yield a transaction and the transactions that it is nested in."""
    while transaction is not None:
        yield transaction
        transaction = transaction.parent
