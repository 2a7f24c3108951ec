"""Connection pools: one for threads and one per event loop, for each process.

psycopg's own pools connect in the background and retry for as long as the caller waits, so a wrong
port looks like a slow server. Here the caller that needs a connection opens it, and sees the error
at once.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from duetime.errors import StoreUnavailable
from duetime.store.sql.postgres.prepared import STALE_PLAN_ERRORS

Connection = psycopg.Connection[Any]
AsyncConnection = psycopg.AsyncConnection[Any]
Cursor = psycopg.Cursor[Any]
AsyncCursor = psycopg.AsyncCursor[Any]
C = TypeVar("C", Connection, AsyncConnection)

# Errors after which a connection is closed: its server is no longer the primary, and the next
# connection may reach the new one; or its session lost its prepared statements.
UNUSABLE_CONNECTION_ERRORS = (psycopg.errors.ReadOnlySqlTransaction, *STALE_PLAN_ERRORS)


class IdleConnections(Generic[C]):
    """Open connections that wait for their next use. Does no I/O except closing."""

    def __init__(self) -> None:
        self._idle: list[C] = []
        self._generation = 0
        self._pid = os.getpid()

    @property
    def generation(self) -> int:
        """Number to pass to `put`: connections taken before a `close` are not kept."""
        return self._generation

    def take(self) -> C | None:
        """Return the most recently used connection that the server has not closed, or None."""
        while self._idle:
            connection = self._idle.pop()
            if _usable(connection):
                return connection
            _close_connection(connection)
        return None

    def put(self, connection: C, edition: int) -> None:
        if edition == self._generation and _usable(connection):
            self._idle.append(connection)
        else:
            _close_connection(connection)

    def close(self) -> None:
        # Connections inherited from a parent process must not be closed here.
        if self._pid == os.getpid():
            self._generation += 1
            while self._idle:
                _close_connection(self._idle.pop())


class ThreadPool:
    """Connections for blocking calls, from any thread."""

    def __init__(self, connect: Callable[[], Connection], size: int, timeout: float | None) -> None:
        self.idle: IdleConnections[Connection] = IdleConnections()
        self._connect = connect
        self._slots = threading.BoundedSemaphore(size)
        self._timeout = timeout

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        if not self._slots.acquire(timeout=self._timeout):
            raise _all_busy(self._timeout)
        try:
            edition = self.idle.generation
            connection = self.idle.take() or self._connect()
            try:
                yield connection
            except UNUSABLE_CONNECTION_ERRORS:
                _close_connection(connection)
                raise
            finally:
                self.idle.put(connection, edition)
        finally:
            self._slots.release()


class LoopPool:
    """Connections for one event loop."""

    def __init__(
        self, connect: Callable[[], Awaitable[AsyncConnection]], size: int, timeout: float | None
    ) -> None:
        self.idle: IdleConnections[AsyncConnection] = IdleConnections()
        self._connect = connect
        self._slots = asyncio.BoundedSemaphore(size)
        self._timeout = timeout

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with asyncio.timeout(self._timeout):
                await self._slots.acquire()
        except TimeoutError:
            raise _all_busy(self._timeout) from None
        try:
            edition = self.idle.generation
            connection = self.idle.take() or await self._connect()
            try:
                yield connection
            except UNUSABLE_CONNECTION_ERRORS:
                _close_connection(connection)
                raise
            finally:
                self.idle.put(connection, edition)
        finally:
            self._slots.release()


@dataclass(slots=True)
class OpenPools:
    """The pools that one process has opened."""

    pid: int
    threads: ThreadPool | None = None
    loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopPool] = field(
        default_factory=weakref.WeakKeyDictionary
    )

    def all(self) -> list[ThreadPool | LoopPool]:
        return [*([self.threads] if self.threads else []), *self.loops.values()]


class Pools:
    """The pools of one store, created on first use and again in a forked child."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        aconnect: Callable[[], Awaitable[AsyncConnection]],
        size: int,
        timeout: float | None,
    ) -> None:
        self._connect = connect
        self._aconnect = aconnect
        self._size = size
        self._timeout = timeout
        self._lock = threading.Lock()
        self._open = OpenPools(os.getpid())
        self._inherited: list[OpenPools] = []

    def for_threads(self) -> ThreadPool:
        self._notice_fork()
        with self._lock:
            if self._open.threads is None:
                pool = self._open.threads = ThreadPool(self._connect, self._size, self._timeout)
                weakref.finalize(self, pool.idle.close)
            return self._open.threads

    def for_loop(self) -> LoopPool:
        self._notice_fork()
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._open.loops:
                pool = LoopPool(self._aconnect, self._size, self._timeout)
                self._open.loops[loop] = pool
                # A loop or a store that was garbage-collected cannot close its connections.
                weakref.finalize(loop, pool.idle.close)
                weakref.finalize(self, pool.idle.close)
            return self._open.loops[loop]

    def close(self) -> None:
        """Close idle connections now, and connections in use when they are returned."""
        self._notice_fork()
        with self._lock:
            for pool in self._open.all():
                pool.idle.close()

    def _notice_fork(self) -> None:
        if self._open.pid != os.getpid():
            # Kept but never used: collecting them would close the parent's connections.
            self._inherited.append(self._open)
            self._lock = threading.Lock()
            self._open = OpenPools(os.getpid())


def _close_connection(connection: C) -> None:
    """Close without waiting, from any thread: libpq only sends its Terminate message."""
    connection.pgconn.finish()


def _usable(connection: C) -> bool:
    """Return whether the connection is open, outside a transaction, and has nothing to read: the
    only message that a server sends to an idle connection is that it closes it."""
    if connection.closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    return not poll.poll(0)


def _all_busy(timeout: float | None) -> StoreUnavailable:
    return StoreUnavailable(
        f"no database connection became free within {timeout or 0:g} s: increase pool_size "
        "or reduce concurrent calls"
    )
