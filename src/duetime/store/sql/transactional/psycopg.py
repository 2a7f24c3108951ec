"""Connections of psycopg 3, blocking and async, from a pool for handlers; each comes as if it
were new. What we ask of them ourselves is answered in time, or the connection is cut."""

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
from duetime.store.sql.joining.joined import Host
from duetime.store.sql.joining.pooled import AsyncLentCaller, LentCaller
from duetime.store.sql.joining.psycopg import plain
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline, sever
from duetime.store.sql.postgres.pipelines import sent_whole
from duetime.store.sql.postgres.pools import AsyncConnection, AsyncCursor, Connection, Cursor, Pools
from duetime.store.sql.postgres.prepared import lost_plan
from duetime.store.sql.transactional.base import BlockingTransaction, OwnJoined, OwnTransaction
from duetime.store.sql.transactional.guarded_cursor import AsyncGuardedCursor, GuardedCursor
from duetime.store.sql.transactional.loan import Loan, lend
from duetime.store.sql.transactional.reclaim import (
    take_back,
    take_back_async,
    wait_until_free,
    wait_until_free_async,
)
from duetime.store.transaction import Hop, OwnCommit

T = TypeVar("T")

UNDO = (Rollback, Rollback(), None)
# Nobody's snapshot may be older than the lease of the run: the fence must see it.
ISOLATION = IsolationLevel.READ_COMMITTED
# psycopg itself takes up to five seconds to ask the server to cancel a statement.
INTERRUPTING = 6.0

# As DISCARD ALL, but what the driver prepared is kept: to plan a completion takes the server
# longer than all else that is asked of it. What a handler prepared by a statement is told last.
CLEAR = rb"""
CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *;
SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES;
SELECT count(*) FROM pg_prepared_statements WHERE from_sql OR name NOT LIKE '\_pg3\_%'
"""


class OfPsycopg(OwnTransaction):
    """What both forms have in common."""

    _connection: Connection | AsyncConnection | None
    _loan: Loan

    async def check(self, hop: Hop) -> None:
        self._loan.over = True
        await self._wait_until_free(hop)
        if self._status() == TransactionStatus.IDLE:
            raise OwnCommit

    def _status(self) -> TransactionStatus:
        if self._connection is None:
            return TransactionStatus.UNKNOWN
        return self._connection.info.transaction_status

    def refusal(self, error: BaseException) -> ConfigError | None:
        """psycopg itself lets nobody call commit() within a block of transaction()."""
        own = isinstance(error, psycopg.ProgrammingError) and "within a Transaction" in str(error)
        return super().refusal(error) or (OwnCommit() if own else None)

    def broken(self, error: BaseException) -> bool:
        return self._connection is None or self._connection.closed

    def met_another(self, error: BaseException) -> bool:
        """Or a handler made the session forget the plan of the completion."""
        stale = self._connection is not None and lost_plan(self._connection, error)
        return super().met_another(error) or stale

    async def ended_early(self, hop: Hop, error: BaseException) -> bool:
        self._loan.over = True
        await self._take_back(hop, error)
        match self._status():
            case TransactionStatus.INTRANS:
                return await self._is_unmarked(hop)
            case TransactionStatus.INERROR:
                return await self._was_committed(hop)
            case status:
                return status == TransactionStatus.IDLE

    @abstractmethod
    async def _wait_until_free(self, hop: Hop) -> None:
        """Until whoever of the handler's holds the connection lets go of it."""

    @abstractmethod
    async def _take_back(self, hop: Hop, error: BaseException) -> None: ...

    @abstractmethod
    async def _is_unmarked(self, hop: Hop) -> bool: ...

    @abstractmethod
    async def _was_committed(self, hop: Hop) -> bool: ...


class PsycopgTransaction(OfPsycopg, BlockingTransaction):
    """A block as of `connection.transaction()`, in which psycopg itself refuses commit()."""

    def __init__(self, host: Host, pools: Pools, timeout: float) -> None:
        self._host = host
        self._pools = pools
        self._timeout = timeout
        self._stack = ExitStack()
        self._connection: Connection | None = None
        self._spoiled = False
        self._loan = Loan()

    def _begin(self) -> Connection:
        connection = self._stack.enter_context(self._pools.of_threads().connection())
        self._connection = connection
        connection.row_factory = tuple_row
        connection.cursor_factory = GuardedCursor
        connection.isolation_level = ISOLATION
        self._loan = lend()
        # What a task of the handler sends after our commit must not be committed by itself.
        connection.autocommit = False
        self.joined = OwnJoined(self._host, LentCaller(connection), self._deadline)
        self._block = psycopg.Transaction(connection)
        self._host.ready_to_join_blocking()
        with self._deadline(), connection.pipeline() as pipeline:
            sent_whole(pipeline)
            self._block.__enter__()
            plain(psycopg.Cursor(connection)).execute(*self.joined.marker())
        return connection

    async def _wait_until_free(self, hop: Hop) -> None:
        await hop(lambda: wait_until_free(self._there(), self._timeout))

    async def _take_back(self, hop: Hop, error: BaseException) -> None:
        await hop(lambda: take_back(self._there(), error, self._timeout, self._deadline))

    async def _is_unmarked(self, hop: Hop) -> bool:
        return bool(await hop(lambda: self._ask(self.joined.unmarked())))

    async def _was_committed(self, hop: Hop) -> bool:
        return bool(await hop(self._ask_after_error))

    def _ask_after_error(self) -> bool:
        with self._deadline():
            psycopg.Cursor(self._there()).execute("ROLLBACK")
        return self._ask(self.joined.was_committed())

    def _ask(self, flow: Flow[bool]) -> bool:
        with self._deadline():
            return self.joined.perform_blocking(flow)

    def _commit(self) -> None:
        with self._deadline():
            self._block.__exit__(None, None, None)

    def _rollback(self) -> None:
        self._spoiled = True
        if not self._there().lock.locked():  # else it was cut, and nothing of it is kept
            with self._deadline():
                self._block.__exit__(*UNDO)

    def _close(self) -> None:
        self._loan.over = True
        with self._stack:
            if self._connection is not None and not self._connection.closed:
                with self._deadline(), closed_if_it_fails(self._connection):
                    self._clear(self._connection)

    def _deadline(self) -> AbstractContextManager[None]:
        distrust = self._pools.of_threads().shelf.close
        return ThreadDeadline(self._there(), self._timeout, distrust)

    def _there(self) -> Connection:
        assert self._connection is not None
        return self._connection

    def _clear(self, connection: Connection) -> None:
        """What the handler set or locked for its session is not for the next one. Where it came
        to no good end, code of it may still run: the connection is not used again."""
        if self._spoiled:
            connection.close()
            return
        connection.autocommit = True
        found = psycopg.Cursor(connection).execute(CLEAR, prepare=False)
        if _left_plans(found):
            connection.close()


class AsyncPsycopgTransaction(OfPsycopg):
    def __init__(self, host: Host, pools: Pools, timeout: float) -> None:
        self._host = host
        self._pools = pools
        self._timeout = timeout
        self._stack = AsyncExitStack()
        self._connection: AsyncConnection | None = None
        self._spoiled = False
        self._loan = Loan()

    async def begin(self, hop: Hop) -> AsyncConnection:
        lent = self._pools.of_loop().connection()
        connection = await self._stack.enter_async_context(lent)
        self._connection = connection
        connection.row_factory = tuple_row
        connection.cursor_factory = AsyncGuardedCursor
        await connection.set_isolation_level(ISOLATION)
        self._loan = lend()
        await connection.set_autocommit(False)
        self.joined = OwnJoined(self._host, AsyncLentCaller(connection), self._deadline)
        self._block = psycopg.AsyncTransaction(connection)
        await self._host.ready_to_join()
        with self._deadline():
            async with connection.pipeline() as pipeline:
                sent_whole(pipeline)
                await self._block.__aenter__()
                await plain(psycopg.AsyncCursor(connection)).execute(*self.joined.marker())
        return connection

    async def work(self, call: Coroutine[Any, Any, T]) -> T:
        """psycopg waits for the end of a statement that was interrupted, also on a wire that
        swallowed it: then the wire is cut."""
        task = asyncio.get_running_loop().create_task(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=INTERRUPTING)
            if ended:
                return task.result()
            sever(self._there())
            await asyncio.wait([task])
            raise

    async def _wait_until_free(self, hop: Hop) -> None:
        await wait_until_free_async(self._there(), self._timeout)

    async def _take_back(self, hop: Hop, error: BaseException) -> None:
        await take_back_async(self._there(), error, self._timeout, self._deadline)

    async def _is_unmarked(self, hop: Hop) -> bool:
        with self._deadline():
            return await self.joined.perform(self.joined.unmarked())

    async def _was_committed(self, hop: Hop) -> bool:
        with self._deadline():
            await psycopg.AsyncCursor(self._there()).execute("ROLLBACK")
            return await self.joined.perform(self.joined.was_committed())

    async def commit(self, hop: Hop) -> None:
        with self._deadline():
            await self._block.__aexit__(None, None, None)

    async def rollback(self, hop: Hop) -> None:
        self._spoiled = True
        if not self._there().lock.locked():
            with self._deadline():
                await self._block.__aexit__(*UNDO)

    async def close(self, hop: Hop) -> None:
        self._loan.over = True
        async with self._stack:
            if self._connection is not None and not self._connection.closed:
                with self._deadline(), closed_if_it_fails(self._connection):
                    await self._clear(self._connection)

    def _deadline(self) -> AbstractContextManager[None]:
        distrust = self._pools.of_loop().shelf.close
        return LoopDeadline(self._there(), self._timeout, distrust)

    def _there(self) -> AsyncConnection:
        assert self._connection is not None
        return self._connection

    async def _clear(self, connection: AsyncConnection) -> None:
        if self._spoiled:
            await connection.close()
            return
        await connection.set_autocommit(True)
        found = await psycopg.AsyncCursor(connection).execute(CLEAR, prepare=False)
        if _left_plans(found):
            await connection.close()


@contextmanager
def closed_if_it_fails(connection: Connection | AsyncConnection) -> Iterator[None]:
    """A session that could not be cleared is not for the next handler."""
    try:
        yield
    except BaseException:
        connection.pgconn.finish()
        raise


def _left_plans(cursor: Cursor | AsyncCursor) -> bool:
    """Whether the session keeps what the next one could stumble over."""
    result = cursor.pgresult
    while cursor.nextset():
        result = cursor.pgresult
    return result is not None and result.get_value(0, 0) != b"0"
