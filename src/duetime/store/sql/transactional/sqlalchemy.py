"""Sessions of SQLAlchemy, blocking and async. What we ask of them ourselves is answered in time,
or their connection is cut."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import AdaptedConnection, Connection, event
from sqlalchemy.exc import DBAPIError, UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from sqlalchemy.orm import SessionTransaction as Level

from duetime.errors import ConfigError
from duetime.store.sql.joining.base import Standing
from duetime.store.sql.joining.joined import Host, SqlJoined
from duetime.store.sql.joining.sqlalchemy import AlchemyCaller, AsyncAlchemyCaller
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline
from duetime.store.sql.transactional.base import BlockingTransaction, OwnJoined, OwnTransaction
from duetime.store.sql.transactional.commit_guard import refuse_ending
from duetime.store.sql.transactional.sqlite3 import Rule, is_denial, refuse_commit
from duetime.store.transaction import Hop, OwnCommit

log = logging.getLogger("duetime.worker")


class Guard:
    """Lets nobody but us commit the transaction of a session, and notes if it was rolled back,
    and over which connection it goes."""

    def __init__(self, session: Session) -> None:
        self._open = False
        self.ended = False
        self.connection: Connection | None = None
        self.driver: Any = None
        event.listen(session, "before_commit", self._before_commit)
        event.listen(session, "after_begin", self._after_begin)
        event.listen(session, "after_transaction_end", self._after_end)

    def check(self) -> None:
        if self.ended:
            raise OwnCommit

    def lift(self, session: Session) -> None:
        self._open = True
        authorize(session.connection(), None)

    def _before_commit(self, session: Session) -> None:
        if not session.in_nested_transaction():
            self._refuse()

    def _after_begin(self, session: Session, transaction: object, connection: Connection) -> None:
        self.connection, self.driver = connection, _driver(connection)
        event.listen(connection, "commit", lambda _: self._refuse())
        # Whoever gets the connection next may do with it as they please.
        event.listen(connection, "rollback", lambda one: authorize(one, None))
        if connection.dialect.name == "postgresql":
            event.listen(connection, "before_cursor_execute", self._before_execute)

    def _after_end(self, session: Session, transaction: Level) -> None:
        if transaction.parent is None:
            self.ended = self.ended or not self._open
            self.connection = self.driver = None

    def _before_execute(self, connection: Connection, cursor: Any, text: str, *_: Any) -> None:
        if not self._open:
            refuse_ending(text)

    def _refuse(self) -> None:
        if not self._open:
            raise OwnCommit


def begin(session: Session) -> None:
    """Nobody's snapshot may be older than the lease of the run: the fence must see it."""
    if _dialect(session) == "postgresql":
        session.connection(execution_options={"isolation_level": "READ COMMITTED"})
        return
    connection = session.connection()
    if getattr(_driver(connection), "autocommit", None) is True:
        raise ConfigError(
            "sessions= have an engine whose connections commit each statement by themselves: "
            "leave autocommit=True out of its connect_args"
        )
    if AlchemyCaller(session).standing() is not Standing.open:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    authorize(connection, refuse_commit)


def _dialect(session: Session) -> str:
    try:
        return session.get_bind().dialect.name
    except UnboundExecutionError:
        raise ConfigError(
            "sessions= makes sessions without an engine of their own: bind them, "
            "sessionmaker(engine)"
        ) from None


def authorize(connection: Connection, rule: Rule | None) -> None:
    """What SQLite itself shall refuse, by whatever means it is asked. Old versions of aiosqlite
    cannot tell it."""
    if hasattr(_driver(connection), "set_authorizer"):
        given: Any = connection.connection.dbapi_connection
        if isinstance(given, AdaptedConnection):
            given.run_async(lambda driver: driver.set_authorizer(rule))
        else:
            given.set_authorizer(rule)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


class OfSessions(OwnTransaction):
    """What both forms have in common."""

    _guard: Guard
    _host: Host

    @abstractmethod
    async def _is_unmarked(self, hop: Hop) -> bool: ...

    @abstractmethod
    async def _was_committed(self, hop: Hop) -> bool: ...

    async def check(self, hop: Hop) -> None:
        self._guard.check()

    def refusal(self, error: BaseException) -> ConfigError | None:
        cause = error.orig if isinstance(error, DBAPIError) else error
        own = cause is not None and is_denial(cause)
        return super().refusal(error) or (OwnCommit() if own else None)

    def broken(self, error: BaseException) -> bool:
        return _tells_of_loss(error)

    async def ended_early(self, hop: Hop, error: BaseException) -> bool:
        """A session that was rolled back committed nothing; one that is out of order can tell no
        more than whether it did; and one whose connection broke, nothing."""
        if self._guard.ended:
            return False
        try:
            return await self._is_unmarked(hop)
        except Exception:
            log.debug("a session in error cannot be asked for its mark", exc_info=True)
        try:
            return await self._was_committed(hop)
        except Exception:
            log.debug("a session in error cannot be asked at all", exc_info=True)
            return False

    def _ask_after_error(self) -> bool:
        """Past the session, which may refuse everything until it is rolled back, and would then
        have given its connection away."""
        connection = self._guard.connection
        if connection is None:
            return False
        connection.connection.rollback()
        joined = SqlJoined(self._host, AlchemyCaller(connection))
        return joined.perform_blocking(self.joined.was_committed())


class SessionTransaction(OfSessions, BlockingTransaction):
    def __init__(
        self, host: Host, sessions: Callable[[], Session], timeout: float | None = None
    ) -> None:
        self._host = host
        self._sessions = sessions
        self._timeout = timeout
        self._session: Session | None = None

    def _begin(self) -> Session:
        self._session = session = self._sessions()
        self._guard = Guard(session)
        self.joined = OwnJoined(self._host, AlchemyCaller(session), self._deadline)
        begin(session)
        with self._deadline():
            self.joined.perform_blocking(self.joined.marking())
        return session

    async def _is_unmarked(self, hop: Hop) -> bool:
        return bool(await hop(self._ask_for_mark))

    def _ask_for_mark(self) -> bool:
        with self._deadline():
            return self.joined.perform_blocking(self.joined.unmarked())

    async def _was_committed(self, hop: Hop) -> bool:
        def ask() -> bool:
            with self._deadline():
                return self._ask_after_error()

        return bool(await hop(ask))

    def _commit(self) -> None:
        self._guard.lift(self._there())
        with self._deadline():
            self._there().commit()

    def _rollback(self) -> None:
        with self._deadline():
            self._there().rollback()

    def _close(self) -> None:
        if self._session is not None:
            with self._deadline():
                self._session.close()

    def _deadline(self) -> AbstractContextManager[None]:
        if self._timeout is None or self._guard.driver is None:
            return nullcontext()
        return ThreadDeadline(self._guard.driver, self._timeout)

    def _there(self) -> Session:
        assert self._session is not None
        return self._session


class AsyncSessionTransaction(OfSessions):
    def __init__(
        self, host: Host, sessions: Callable[[], AsyncSession], timeout: float | None = None
    ) -> None:
        self._host = host
        self._sessions = sessions
        self._timeout = timeout
        self._session: AsyncSession | None = None

    async def begin(self, hop: Hop) -> AsyncSession:
        self._session = session = self._sessions()
        self._guard = Guard(session.sync_session)
        self.joined = OwnJoined(self._host, AsyncAlchemyCaller(session), self._deadline)
        await session.run_sync(begin)
        with self._deadline():
            await self.joined.perform(self.joined.marking())
        return session

    async def _is_unmarked(self, hop: Hop) -> bool:
        with self._deadline():
            return await self.joined.perform(self.joined.unmarked())

    async def _was_committed(self, hop: Hop) -> bool:
        with self._deadline():
            return await self._there().run_sync(lambda _: self._ask_after_error())

    async def commit(self, hop: Hop) -> None:
        await self._there().run_sync(self._guard.lift)
        with self._deadline():
            await self._there().commit()

    async def rollback(self, hop: Hop) -> None:
        with self._deadline():
            await self._there().rollback()

    async def close(self, hop: Hop) -> None:
        if self._session is not None:
            with self._deadline():
                await self._session.close()

    def _deadline(self) -> AbstractContextManager[None]:
        if self._timeout is None or self._guard.driver is None:
            return nullcontext()
        return LoopDeadline(self._guard.driver, self._timeout)

    def _there(self) -> AsyncSession:
        assert self._session is not None
        return self._session


def _tells_of_loss(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        error = error.__cause__ or error.__context__
    return False
