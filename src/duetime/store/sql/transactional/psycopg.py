"""Handler transactions on psycopg 3, blocking and async, with connections from the handler pools.

Each connection is reset between handlers. Our own statements have a deadline, after which the
connection is severed."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import IsolationLevel, Rollback
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from duetime.errors import ConfigError
from duetime.store.flow import Flow
from duetime.store.sql.joining.joined import JoinHost
from duetime.store.sql.joining.pooled import AsyncPooledPsycopgCaller, PooledPsycopgCaller
from duetime.store.sql.joining.psycopg import with_default_types
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline, sever
from duetime.store.sql.postgres.pipelines import send_whole
from duetime.store.sql.postgres.pools import AsyncConnection, AsyncCursor, Connection, Cursor, Pools
from duetime.store.sql.postgres.prepared import lost_prepared_statement
from duetime.store.sql.transactional.base import (
    BlockingTransaction,
    HandlerJoinedStore,
    HandlerTransaction,
)
from duetime.store.sql.transactional.guarded_cursor import AsyncGuardedCursor, GuardedCursor
from duetime.store.sql.transactional.loan import Loan, lend
from duetime.store.sql.transactional.reclaim import (
    reclaim,
    reclaim_async,
    wait_until_free,
    wait_until_free_async,
)
from duetime.store.transaction import RunBlocking, UserCommitted

T = TypeVar("T")

ROLLBACK_EXIT = (Rollback, Rollback(), None)
# A snapshot must not be older than the lease of the run: the fence must see the current claim.
ISOLATION = IsolationLevel.READ_COMMITTED
# psycopg itself takes up to five seconds to send a cancel request to the server.
INTERRUPT_TIMEOUT_SECONDS = 6.0

# DISCARD ALL without the driver's prepared statements: planning a completion costs the server more
# than executing it. The last row counts the statements that a handler prepared by SQL.
RESET_SESSION = rb"""
CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *;
SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES;
SELECT count(*) FROM pg_prepared_statements WHERE from_sql OR name NOT LIKE '\_pg3\_%'
"""


class PsycopgTransactionBase(HandlerTransaction):
    """Common parts of the blocking and the async transaction."""

    _connection: Connection | AsyncConnection | None
    _loan: Loan

    async def check(self, run_blocking: RunBlocking) -> None:
        self._loan.over = True
        await self._wait_until_free(run_blocking)
        if self._status() == TransactionStatus.IDLE:
            raise UserCommitted

    def _status(self) -> TransactionStatus:
        if self._connection is None:
            return TransactionStatus.UNKNOWN
        return self._connection.info.transaction_status

    def refusal(self, error: BaseException) -> ConfigError | None:
        """Recognise psycopg's own refusal of commit() within a block of transaction()."""
        own = isinstance(error, psycopg.ProgrammingError) and "within a Transaction" in str(error)
        return super().refusal(error) or (UserCommitted() if own else None)

    def is_disconnect(self, error: BaseException) -> bool:
        return self._connection is None or self._connection.closed

    def is_conflict(self, error: BaseException) -> bool:
        """Also True if a handler made the session lose the completion's prepared statement."""
        stale = self._connection is not None and lost_prepared_statement(self._connection, error)
        return super().is_conflict(error) or stale

    async def closed_by_handler(self, run_blocking: RunBlocking, error: BaseException) -> bool:
        self._loan.over = True
        await self._reclaim(run_blocking, error)
        match self._status():
            case TransactionStatus.INTRANS:
                return await self._is_other_transaction(run_blocking)
            case TransactionStatus.INERROR:
                return await self._was_committed(run_blocking)
            case status:
                return status == TransactionStatus.IDLE

    @abstractmethod
    async def _wait_until_free(self, run_blocking: RunBlocking) -> None:
        """Wait until no task or thread of the handler uses the connection."""

    @abstractmethod
    async def _reclaim(self, run_blocking: RunBlocking, error: BaseException) -> None: ...

    @abstractmethod
    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool: ...

    @abstractmethod
    async def _was_committed(self, run_blocking: RunBlocking) -> bool: ...


class PsycopgTransaction(PsycopgTransactionBase, BlockingTransaction):
    """A block like `connection.transaction()`, in which psycopg itself refuses commit()."""

    def __init__(self, host: JoinHost, pools: Pools, timeout: float) -> None:
        self._host = host
        self._pools = pools
        self._timeout = timeout
        self._stack = ExitStack()
        self._connection: Connection | None = None
        self._failed = False
        self._loan = Loan()

    def _begin(self) -> Connection:
        connection = self._stack.enter_context(self._pools.for_threads().connection())
        self._connection = connection
        connection.row_factory = tuple_row
        connection.cursor_factory = GuardedCursor
        connection.isolation_level = ISOLATION
        self._loan = lend()
        # A late statement of a handler's task, sent after our commit, must not commit by itself.
        connection.autocommit = False
        self.joined = HandlerJoinedStore(
            self._host, PooledPsycopgCaller(connection), self._deadline
        )
        self._block = psycopg.Transaction(connection)
        self._host.ready_to_join_blocking()
        with self._deadline(), connection.pipeline() as pipeline:
            send_whole(pipeline)
            self._block.__enter__()
            with_default_types(psycopg.Cursor(connection)).execute(*self.joined.mark_message())
        return connection

    async def _wait_until_free(self, run_blocking: RunBlocking) -> None:
        await run_blocking(lambda: wait_until_free(self._required(), self._timeout))

    async def _reclaim(self, run_blocking: RunBlocking, error: BaseException) -> None:
        await run_blocking(lambda: reclaim(self._required(), error, self._timeout, self._deadline))

    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool:
        return bool(await run_blocking(lambda: self._ask(self.joined.is_other_transaction())))

    async def _was_committed(self, run_blocking: RunBlocking) -> bool:
        return bool(await run_blocking(self._ask_after_error))

    def _ask_after_error(self) -> bool:
        with self._deadline():
            psycopg.Cursor(self._required()).execute("ROLLBACK")
        return self._ask(self.joined.was_committed())

    def _ask(self, flow: Flow[bool]) -> bool:
        with self._deadline():
            return self.joined.perform_blocking(flow)

    def _commit(self) -> None:
        with self._deadline():
            self._block.__exit__(None, None, None)

    def _rollback(self) -> None:
        self._failed = True
        if not self._required().lock.locked():  # else it was severed, and the server rolls back
            with self._deadline():
                self._block.__exit__(*ROLLBACK_EXIT)

    def _close(self) -> None:
        self._loan.over = True
        with self._stack:
            if self._connection is not None and not self._connection.closed:
                with self._deadline(), close_on_error(self._connection):
                    self._reset(self._connection)

    def _deadline(self) -> AbstractContextManager[None]:
        close_idle = self._pools.for_threads().idle.close
        return ThreadDeadline(self._required(), self._timeout, close_idle)

    def _required(self) -> Connection:
        assert self._connection is not None
        return self._connection

    def _reset(self, connection: Connection) -> None:
        """Undo session settings and locks of the handler before the next handler.

        After a failed run the connection is closed, since code of the handler may still use it."""
        if self._failed:
            connection.close()
            return
        connection.autocommit = True
        cursor = psycopg.Cursor(connection).execute(RESET_SESSION, prepare=False)
        if _has_foreign_plans(cursor):
            connection.close()


class AsyncPsycopgTransaction(PsycopgTransactionBase):
    def __init__(self, host: JoinHost, pools: Pools, timeout: float) -> None:
        self._host = host
        self._pools = pools
        self._timeout = timeout
        self._stack = AsyncExitStack()
        self._connection: AsyncConnection | None = None
        self._failed = False
        self._loan = Loan()

    async def begin(self, run_blocking: RunBlocking) -> AsyncConnection:
        lent = self._pools.for_loop().connection()
        connection = await self._stack.enter_async_context(lent)
        self._connection = connection
        connection.row_factory = tuple_row
        connection.cursor_factory = AsyncGuardedCursor
        await connection.set_isolation_level(ISOLATION)
        self._loan = lend()
        await connection.set_autocommit(False)
        self.joined = HandlerJoinedStore(
            self._host, AsyncPooledPsycopgCaller(connection), self._deadline
        )
        self._block = psycopg.AsyncTransaction(connection)
        await self._host.ready_to_join()
        with self._deadline():
            async with connection.pipeline() as pipeline:
                send_whole(pipeline)
                await self._block.__aenter__()
                await with_default_types(psycopg.AsyncCursor(connection)).execute(
                    *self.joined.mark_message()
                )
        return connection

    async def run_handler(self, call: Coroutine[Any, Any, T]) -> T:
        """Run the handler. On cancellation psycopg waits for the interrupted statement, even on a
        dead connection: then the connection is severed."""
        task = asyncio.get_running_loop().create_task(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=INTERRUPT_TIMEOUT_SECONDS)
            if done:
                return task.result()
            sever(self._required())
            await asyncio.wait([task])
            raise

    async def _wait_until_free(self, run_blocking: RunBlocking) -> None:
        await wait_until_free_async(self._required(), self._timeout)

    async def _reclaim(self, run_blocking: RunBlocking, error: BaseException) -> None:
        await reclaim_async(self._required(), error, self._timeout, self._deadline)

    async def _is_other_transaction(self, run_blocking: RunBlocking) -> bool:
        with self._deadline():
            return await self.joined.perform(self.joined.is_other_transaction())

    async def _was_committed(self, run_blocking: RunBlocking) -> bool:
        with self._deadline():
            await psycopg.AsyncCursor(self._required()).execute("ROLLBACK")
            return await self.joined.perform(self.joined.was_committed())

    async def commit(self, run_blocking: RunBlocking) -> None:
        with self._deadline():
            await self._block.__aexit__(None, None, None)

    async def rollback(self, run_blocking: RunBlocking) -> None:
        self._failed = True
        if not self._required().lock.locked():
            with self._deadline():
                await self._block.__aexit__(*ROLLBACK_EXIT)

    async def close(self, run_blocking: RunBlocking) -> None:
        self._loan.over = True
        async with self._stack:
            if self._connection is not None and not self._connection.closed:
                with self._deadline(), close_on_error(self._connection):
                    await self._reset(self._connection)

    def _deadline(self) -> AbstractContextManager[None]:
        close_idle = self._pools.for_loop().idle.close
        return LoopDeadline(self._required(), self._timeout, close_idle)

    def _required(self) -> AsyncConnection:
        assert self._connection is not None
        return self._connection

    async def _reset(self, connection: AsyncConnection) -> None:
        if self._failed:
            await connection.close()
            return
        await connection.set_autocommit(True)
        cursor = await psycopg.AsyncCursor(connection).execute(RESET_SESSION, prepare=False)
        if _has_foreign_plans(cursor):
            await connection.close()


@contextmanager
def close_on_error(connection: Connection | AsyncConnection) -> Iterator[None]:
    """Close the connection on an error: a session that was not reset must not be lent again."""
    try:
        yield
    except BaseException:
        connection.pgconn.finish()
        raise


def _has_foreign_plans(cursor: Cursor | AsyncCursor) -> bool:
    """Return whether a handler left prepared statements in the session."""
    result = cursor.pgresult
    while cursor.nextset():
        result = cursor.pgresult
    return result is not None and result.get_value(0, 0) != b"0"
