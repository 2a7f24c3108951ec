"""SQLAlchemy: Session and Connection, and their async forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from duetime.errors import ConfigError
from duetime.store.flow import Rows
from duetime.store.sql.drivers import Driven
from duetime.store.sql.joining.base import (
    BlockingCaller,
    Caller,
    Params,
    Render,
    Standing,
    Step,
    needs_await,
)
from duetime.store.sql.joining.locks import loop_turn
from duetime.store.sql.joining.sqlite3 import standing_of
from duetime.store.sql.statements.loader import Dialect, Style

T = TypeVar("T")

DIALECTS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}
# sqlite3 knows `:name` too, whatever SQLAlchemy itself writes for it.
STYLES: dict[str, Style] = {
    "pyformat": "pyformat",
    "numeric_dollar": "dollar",
    "qmark": "named",
    "named": "named",
}


class AlchemyCaller(BlockingCaller):
    """Statements go through SQLAlchemy as they are: it begins its transaction when it does for
    the caller's own, and its logs and events see them."""

    def __init__(self, owner: Session | Connection) -> None:
        self._owner = owner

    @property
    def dialect(self) -> Dialect:
        name = self._connection().dialect.name
        if name not in DIALECTS:
            raise ConfigError(
                f"connection={self._connection().engine.url!r} is to {name}; duetime joins "
                "transactions of PostgreSQL and SQLite"
            )
        return DIALECTS[name]

    @property
    def style(self) -> Style:
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

    def standing(self) -> Standing:
        connection = self._connection()
        driver: Any = connection.connection.dbapi_connection
        if self.dialect == "sqlite":
            return standing_of(getattr(driver, "driver_connection", driver))
        return Standing.alone if driver.autocommit else Standing.open

    def after_commit(self, call: Callable[[], None]) -> bool:
        if not isinstance(self._owner, Session):
            return False
        Afterwards.of(self._owner).add(self._owner, call)
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
                "connection=session has no engine of its own: pass the connection of the right "
                "one, session.connection(bind_arguments={'mapper': …})"
            ) from None


class AsyncAlchemyCaller(Caller):
    """The same behind SQLAlchemy's own bridge."""

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
    def style(self) -> Style:
        return self._inner.style

    def source(self) -> object:
        return self._inner.source()

    def owner(self) -> object:
        return self._owner

    def standing(self) -> Standing:
        return self._inner.standing()

    def after_commit(self, call: Callable[[], None]) -> bool:
        return self._inner.after_commit(call)

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        async with loop_turn(self._owner):
            return await self._owner.run_sync(lambda _: self._inner.run_blocking(driven, render))

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        raise needs_await(self._owner)


class Afterwards:
    """What waits for a session's commit; what belongs to a savepoint goes with it."""

    def __init__(self, session: Session) -> None:
        self._calls: list[tuple[SessionTransaction | None, Callable[[], None]]] = []
        event.listen(session, "after_commit", self._committed)
        event.listen(session, "after_soft_rollback", self._rolled_back)
        event.listen(session, "after_transaction_end", self._ended)

    @classmethod
    def of(cls, session: Session) -> Afterwards:
        found: Afterwards | None = session.info.get(cls)
        if found is None:
            found = session.info[cls] = cls(session)
        return found

    def add(self, session: Session, call: Callable[[], None]) -> None:
        part = session.get_nested_transaction() or session.get_transaction()
        self._calls.append((part, call))

    def _committed(self, session: Session) -> None:
        if session.in_nested_transaction():
            return  # a savepoint was released, which commits nothing
        calls, self._calls = self._calls, []
        for _, call in calls:
            call()

    def _rolled_back(self, session: Session, gone: SessionTransaction) -> None:
        self._calls = [(part, call) for part, call in self._calls if gone not in _within(part)]

    def _ended(self, session: Session, transaction: SessionTransaction) -> None:
        """Closed without a commit, it tells of no rollback either."""
        if transaction.parent is None:
            self._calls = []


def _within(part: SessionTransaction | None) -> Iterator[SessionTransaction]:
    """A transaction, and all that it is nested in."""
    while part is not None:
        yield part
        part = part.parent
