"""Handler transactions on SQLAlchemy sessions, blocking and async.

Our own statements have a deadline, after which the connection is severed."""

from __future__ import annotations

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
from duetime.logs import get_log
from duetime.store.sql.joining.base import TransactionMode
from duetime.store.sql.joining.joined import JoinHost, SqlJoinedStore
from duetime.store.sql.joining.sqlalchemy import AlchemyCaller, AsyncAlchemyCaller
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline
from duetime.store.sql.transactional.base import (
    BlockingTransaction,
    HandlerJoinedStore,
    HandlerTransaction,
)
from duetime.store.sql.transactional.commit_guard import refuse_transaction_end
from duetime.store.sql.transactional.sqlite3 import Authorizer, is_denial, refuse_commit
from duetime.store.transaction import RunBlocking, UserCommitted

log = get_log("duetime.worker")


class SessionGuard:
    """Refuses commits of a session's transaction until `allow_commit`.

    Notes whether the transaction was closed, and which connection it uses."""

    def __init__(self, session: Session) -> None:
        self._allowed = False
        self.closed = False
        self.connection: Connection | None = None
        self.driver: Any = None
        event.listen(session, "before_commit", self._before_commit)
        event.listen(session, "after_begin", self._after_begin)
        event.listen(session, "after_transaction_end", self._after_end)

    def check(self) -> None:
        if self.closed:
            raise UserCommitted

    def allow_commit(self, session: Session) -> None:
        self._allowed = True
        authorize(session.connection(), None)

    def _before_commit(self, session: Session) -> None:
        if not session.in_nested_transaction():
            self._refuse()

    def _after_begin(self, session: Session, transaction: object, connection: Connection) -> None:
        self.connection, self.driver = connection, _driver(connection)
        event.listen(connection, "commit", lambda _: self._refuse())
        # The next user of the connection must not be restricted.
        event.listen(connection, "rollback", lambda connection: authorize(connection, None))
        if connection.dialect.name == "postgresql":
            event.listen(connection, "before_cursor_execute", self._before_execute)

    def _after_end(self, session: Session, transaction: Level) -> None:
        if transaction.parent is None:
            self.closed = self.closed or not self._allowed
            self.connection = self.driver = None

    def _before_execute(self, connection: Connection, cursor: Any, text: str, *_: Any) -> None:
        if not self._allowed:
            refuse_transaction_end(text)

    def _refuse(self) -> None:
        if not self._allowed:
            raise UserCommitted


def begin(session: Session) -> None:
    """Begin the session's transaction.

    READ COMMITTED, since a snapshot must not be older than the lease of the run: the fence must
    see the current claim.
    """
    if _dialect(session) == "postgresql":
        session.connection(execution_options={"isolation_level": "READ COMMITTED"})
        return
    connection = session.connection()
    if getattr(_driver(connection), "autocommit", None) is True:
        raise ConfigError(
            "the engine of sessions= commits each statement by itself: remove autocommit=True "
            "from its connect_args"
        )
    if AlchemyCaller(session).transaction_mode() is not TransactionMode.open:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    authorize(connection, refuse_commit)


def _dialect(session: Session) -> str:
    try:
        return session.get_bind().dialect.name
    except UnboundExecutionError:
        raise ConfigError(
            "sessions= creates sessions that are not bound to an engine: use sessionmaker(engine)"
        ) from None


def authorize(connection: Connection, authorizer: Authorizer | None) -> None:
    """Set what SQLite itself refuses, whatever way a statement is sent; None allows everything.

    Old versions of aiosqlite have no such method."""
    if hasattr(_driver(connection), "set_authorizer"):
        connection_object: Any = connection.connection.dbapi_connection
        if isinstance(connection_object, AdaptedConnection):
            connection_object.run_async(lambda driver: driver.set_authorizer(authorizer))
        else:
            connection_object.set_authorizer(authorizer)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


class SessionTransactionBase(HandlerTransaction):
    """Common parts of the blocking and the async session transaction."""

    _guard: SessionGuard
    _host: JoinHost

    @abstractmethod
    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool: ...

    @abstractmethod
    async def _was_committed(self, run_blocking: RunBlocking) -> bool: ...

    async def check(self, run_blocking: RunBlocking) -> None:
        self._guard.check()

    def refusal(self, error: BaseException) -> ConfigError | None:
        cause = error.orig if isinstance(error, DBAPIError) else error
        own = cause is not None and is_denial(cause)
        return super().refusal(error) or (UserCommitted() if own else None)

    def is_disconnect(self, error: BaseException) -> bool:
        return _is_invalidated(error)

    async def closed_by_handler(self, run_blocking: RunBlocking, error: BaseException) -> bool:
        """Compare the mark, or ask for the committed mark if the session is in an error state.

        A session that was rolled back committed nothing; a broken connection answers nothing, and
        counts as not committed."""
        if self._guard.closed:
            return False
        try:
            return await self._is_other_transaction(run_blocking)
        except Exception:
            log.debug("the mark of a failed session could not be read", exc_info=True)
        try:
            return await self._was_committed(run_blocking)
        except Exception:
            log.debug("whether a failed session was committed could not be read", exc_info=True)
            return False

    def _ask_after_error(self) -> bool:
        """Ask on the connection itself: the session may refuse everything until it is rolled back,
        and then releases its connection."""
        connection = self._guard.connection
        if connection is None:
            return False
        connection.connection.rollback()
        joined = SqlJoinedStore(self._host, AlchemyCaller(connection))
        return joined.perform_blocking(self.joined.was_committed())


class SessionTransaction(SessionTransactionBase, BlockingTransaction):
    def __init__(
        self, host: JoinHost, sessions: Callable[[], Session], timeout: float | None = None
    ) -> None:
        self._host = host
        self._sessions = sessions
        self._timeout = timeout
        self._session: Session | None = None

    def _begin(self) -> Session:
        self._host.ready_to_join_blocking()
        self._session = session = self._sessions()
        self._guard = SessionGuard(session)
        self.joined = HandlerJoinedStore(self._host, AlchemyCaller(session), self._deadline)
        begin(session)
        with self._deadline():
            self.joined.perform_blocking(self.joined.set_mark())
        return session

    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool:
        return bool(await run_blocking(self._ask_for_mark))

    def _ask_for_mark(self) -> bool:
        with self._deadline():
            return self.joined.perform_blocking(self.joined.is_other_transaction())

    async def _was_committed(self, run_blocking: RunBlocking) -> bool:
        def ask() -> bool:
            with self._deadline():
                return self._ask_after_error()

        return bool(await run_blocking(ask))

    def _commit(self) -> None:
        self._guard.allow_commit(self._required())
        with self._deadline():
            self._required().commit()

    def _rollback(self) -> None:
        with self._deadline():
            self._required().rollback()

    def _close(self) -> None:
        if self._session is not None:
            with self._deadline():
                self._session.close()

    def _deadline(self) -> AbstractContextManager[None]:
        if self._timeout is None or self._guard.driver is None:
            return nullcontext()
        return ThreadDeadline(self._guard.driver, self._timeout)

    def _required(self) -> Session:
        assert self._session is not None
        return self._session


class AsyncSessionTransaction(SessionTransactionBase):
    def __init__(
        self, host: JoinHost, sessions: Callable[[], AsyncSession], timeout: float | None = None
    ) -> None:
        self._host = host
        self._sessions = sessions
        self._timeout = timeout
        self._session: AsyncSession | None = None

    async def begin(self, run_blocking: RunBlocking) -> AsyncSession:
        await self._host.ready_to_join()
        self._session = session = self._sessions()
        self._guard = SessionGuard(session.sync_session)
        self.joined = HandlerJoinedStore(self._host, AsyncAlchemyCaller(session), self._deadline)
        await session.run_sync(begin)
        with self._deadline():
            await self.joined.perform(self.joined.set_mark())
        return session

    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool:
        with self._deadline():
            return await self.joined.perform(self.joined.is_other_transaction())

    async def _was_committed(self, run_blocking: RunBlocking) -> bool:
        with self._deadline():
            return await self._required().run_sync(lambda _: self._ask_after_error())

    async def commit(self, run_blocking: RunBlocking) -> None:
        await self._required().run_sync(self._guard.allow_commit)
        with self._deadline():
            await self._required().commit()

    async def rollback(self, run_blocking: RunBlocking) -> None:
        with self._deadline():
            await self._required().rollback()

    async def close(self, run_blocking: RunBlocking) -> None:
        if self._session is not None:
            with self._deadline():
                await self._session.close()

    def _deadline(self) -> AbstractContextManager[None]:
        if self._timeout is None or self._guard.driver is None:
            return nullcontext()
        return LoopDeadline(self._guard.driver, self._timeout)

    def _required(self) -> AsyncSession:
        assert self._session is not None
        return self._session


def _is_invalidated(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        error = error.__cause__ or error.__context__
    return False
