"""Connections kept for their next use: per process, and per event loop.

psycopg's own pools connect in the background and try again for as long as the caller waits,
so a wrong port looks like a slow server. Here whoever needs a connection makes it, and its
error is the caller's at once.
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
from duetime.store.sql.postgres.prepared import STALE

Connection = psycopg.Connection[Any]
AsyncConnection = psycopg.AsyncConnection[Any]
Cursor = psycopg.Cursor[Any]
AsyncCursor = psycopg.AsyncCursor[Any]
C = TypeVar("C", Connection, AsyncConnection)

# What a connection may say that is of no more use: it leads to a primary no more, so the next may
# reach the new one; or its session lost what it kept.
SPENT = (psycopg.errors.ReadOnlySqlTransaction, *STALE)


class Shelf(Generic[C]):
    """Connections that wait to be used again. Does no I/O but closing."""

    def __init__(self) -> None:
        self._idle: list[C] = []
        self._closings = 0
        self._pid = os.getpid()

    @property
    def edition(self) -> int:
        """What to give back with a connection: those taken before a `close` are not kept."""
        return self._closings

    def take(self) -> C | None:
        """The one used last, if the server has not closed it meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            if _usable(connection):
                return connection
            _finish(connection)
        return None

    def give(self, connection: C, edition: int) -> None:
        if edition == self._closings and _usable(connection):
            self._idle.append(connection)
        else:
            _finish(connection)

    def close(self) -> None:
        # The connections of a parent process are not ours to end.
        if self._pid == os.getpid():
            self._closings += 1
            while self._idle:
                _finish(self._idle.pop())


class ThreadPool:
    """For blocking calls, from any thread."""

    def __init__(self, connect: Callable[[], Connection], size: int, timeout: float | None) -> None:
        self.shelf: Shelf[Connection] = Shelf()
        self._connect = connect
        self._slots = threading.BoundedSemaphore(size)
        self._timeout = timeout

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        if not self._slots.acquire(timeout=self._timeout):
            raise _all_busy(self._timeout)
        try:
            edition = self.shelf.edition
            connection = self.shelf.take() or self._connect()
            try:
                yield connection
            except SPENT:
                _finish(connection)
                raise
            finally:
                self.shelf.give(connection, edition)
        finally:
            self._slots.release()


class LoopPool:
    """For one event loop."""

    def __init__(
        self, connect: Callable[[], Awaitable[AsyncConnection]], size: int, timeout: float | None
    ) -> None:
        self.shelf: Shelf[AsyncConnection] = Shelf()
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
            edition = self.shelf.edition
            connection = self.shelf.take() or await self._connect()
            try:
                yield connection
            except SPENT:
                _finish(connection)
                raise
            finally:
                self.shelf.give(connection, edition)
        finally:
            self._slots.release()


@dataclass(slots=True)
class OpenPools:
    """What one process has opened."""

    pid: int
    threads: ThreadPool | None = None
    loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopPool] = field(
        default_factory=weakref.WeakKeyDictionary
    )

    def all(self) -> list[ThreadPool | LoopPool]:
        return [*([self.threads] if self.threads else []), *self.loops.values()]


class Pools:
    """The pools of one store: made when needed, made anew in a forked child."""

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

    def of_threads(self) -> ThreadPool:
        self._notice_fork()
        with self._lock:
            if self._open.threads is None:
                pool = self._open.threads = ThreadPool(self._connect, self._size, self._timeout)
                weakref.finalize(self, pool.shelf.close)
            return self._open.threads

    def of_loop(self) -> LoopPool:
        self._notice_fork()
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._open.loops:
                pool = LoopPool(self._aconnect, self._size, self._timeout)
                self._open.loops[loop] = pool
                # A loop that is gone cannot close its connections, nor can a store.
                weakref.finalize(loop, pool.shelf.close)
                weakref.finalize(self, pool.shelf.close)
            return self._open.loops[loop]

    def close(self) -> None:
        """Close what is idle now, and what is in use as it comes back."""
        self._notice_fork()
        with self._lock:
            for pool in self._open.all():
                pool.shelf.close()

    def _notice_fork(self) -> None:
        if self._open.pid != os.getpid():
            # Kept, never used: to collect them would end the parent's connections.
            self._inherited.append(self._open)
            self._lock = threading.Lock()
            self._open = OpenPools(os.getpid())


def _finish(connection: C) -> None:
    """Close it, without waiting and from any thread: libpq only says goodbye."""
    connection.pgconn.finish()


def _usable(connection: C) -> bool:
    """Open, in no transaction, and the server has said nothing: what it says to an idle
    connection is goodbye."""
    if connection.closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    return not poll.poll(0)


def _all_busy(timeout: float | None) -> StoreUnavailable:
    return StoreUnavailable(
        f"no database connection became free within {timeout or 0:g} s: raise pool_size, or call "
        "less"
    )
