"""Sessions of SQLAlchemy, blocking and async."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from sqlalchemy.orm import SessionTransaction as Level

from duetime.errors import ConfigError
from duetime.store.sql.callers.alchemy import AlchemyCaller, AsyncAlchemyCaller
from duetime.store.sql.callers.base import Standing
from duetime.store.sql.joined import Host
from duetime.store.sql.transactions.base import (
    BlockingTransaction,
    OwnJoined,
    OwnTransaction,
    refuse_ending,
)
from duetime.store.transaction import Hop, OwnCommit


class Guard:
    """Lets nobody but us end the transaction of a session."""

    def __init__(self, session: Session) -> None:
        self._open = False
        event.listen(session, "before_commit", self._before_commit)
        event.listen(session, "after_begin", self._after_begin)
        event.listen(session, "after_transaction_end", self._after_end)
        self._ended = False

    def check(self) -> None:
        if self._ended:
            raise OwnCommit

    def _after_end(self, session: Session, transaction: Level) -> None:
        self._ended = self._ended or (transaction.parent is None and not self._open)

    def lift(self) -> None:
        self._open = True

    def _before_commit(self, session: Session) -> None:
        if not session.in_nested_transaction():
            self._refuse()

    def _after_begin(self, session: Session, transaction: object, connection: Connection) -> None:
        event.listen(connection, "commit", lambda _: self._refuse())
        event.listen(connection, "before_cursor_execute", self._before_execute)

    def _before_execute(self, connection: Connection, cursor: Any, text: str, *_: Any) -> None:
        if not self._open:
            refuse_ending(text)

    def _refuse(self) -> None:
        if not self._open:
            raise OwnCommit


def begin(session: Session) -> Guard:
    """Nobody's snapshot may be older than the lease of the run: the fence must see it."""
    guard = Guard(session)
    connection = session.connection(execution_options=_options(session))
    if AlchemyCaller(session).standing() is not Standing.open:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    return guard


def _options(session: Session) -> dict[str, Any]:
    try:
        name = session.get_bind().dialect.name
    except UnboundExecutionError:
        raise ConfigError(
            "sessions= makes sessions without an engine of their own: bind them, "
            "sessionmaker(engine)"
        ) from None
    return {"isolation_level": "READ COMMITTED"} if name == "postgresql" else {}


class SessionTransaction(BlockingTransaction):
    def __init__(self, host: Host, sessions: Callable[[], Session]) -> None:
        self._host = host
        self._sessions = sessions
        self._session: Session | None = None

    def _begin(self) -> Session:
        self._session = session = self._sessions()
        self.joined = OwnJoined(self._host, AlchemyCaller(session))
        self._guard = begin(session)
        return session

    def check(self) -> None:
        self._guard.check()

    def broken(self, error: BaseException) -> bool:
        return _tells_of_loss(error)

    def _commit(self) -> None:
        self._guard.lift()
        self._there().commit()

    def _rollback(self) -> None:
        self._there().rollback()

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _there(self) -> Session:
        assert self._session is not None
        return self._session


class AsyncSessionTransaction(OwnTransaction):
    def __init__(self, host: Host, sessions: Callable[[], AsyncSession]) -> None:
        self._host = host
        self._sessions = sessions
        self._session: AsyncSession | None = None

    async def begin(self, hop: Hop) -> AsyncSession:
        self._session = session = self._sessions()
        self.joined = OwnJoined(self._host, AsyncAlchemyCaller(session))
        self._guard = await session.run_sync(begin)
        return session

    def check(self) -> None:
        self._guard.check()

    def broken(self, error: BaseException) -> bool:
        return _tells_of_loss(error)

    async def commit(self, hop: Hop) -> None:
        self._guard.lift()
        await self._there().commit()

    async def rollback(self, hop: Hop) -> None:
        await self._there().rollback()

    async def close(self, hop: Hop) -> None:
        if self._session is not None:
            await self._session.close()

    def _there(self) -> AsyncSession:
        assert self._session is not None
        return self._session


def _tells_of_loss(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        error = error.__cause__ or error.__context__
    return False
