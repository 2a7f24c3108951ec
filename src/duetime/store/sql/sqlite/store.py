"""The store in a SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from os import PathLike, fspath
from typing import TypeVar

from duetime.model.clock import Clock, SystemClock, to_micros
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.ids import TimeOrderedIds
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Rows, Statement, Wake
from duetime.store.listeners import Listeners
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import drive, statements
from duetime.store.sql.joining.detect import recognise
from duetime.store.sql.joining.joined import SqlJoined
from duetime.store.sql.sqlite.diagnosis import examine
from duetime.store.sql.sqlite.errors import FAULTS, explain, is_missing
from duetime.store.sql.sqlite.flows import SqliteFlows
from duetime.store.sql.sqlite.join_host import SqliteHost
from duetime.store.sql.sqlite.wal import WalWatch
from duetime.store.sql.sqlite.writer import Job, Writer
from duetime.store.sql.statements.loader import Loader, Migration
from duetime.store.sql.statements.table_names import WRITTEN, Names
from duetime.store.sql.transactional.factory import SQLITE3, opener_for
from duetime.store.sql.transactional.sqlite3 import Sqlite3Transaction
from duetime.store.transaction import Joined, Opener

T = TypeVar("T")


class SqliteStore(SqliteFlows):
    """Actions live in one file; threads and processes of one machine may share it."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        prefix: str = WRITTEN,
        migrate: bool = True,
        clock: Clock | None = None,
        timeout: float = 5.0,
    ) -> None:
        self._path = fspath(path)
        self._migrate = migrate
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._ids = TimeOrderedIds(self._clock)
        self._loader = Loader("sqlite", Names(prefix))
        self._listeners = Listeners()
        self._ready = False
        self._writer = Writer(self._path, self._connect, self._drive)
        self._host = SqliteHost(
            self._path,
            self._loader,
            self._clock,
            ready=lambda: self._ready,
            refuse=self._refuse,
            wake=self._listeners.tell,
        )

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def done(job: Job) -> None:
            self._listeners.tell(_woken(job))
            # The loop may be closed by now: then nobody waits for the answer.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_answer, answer, job)

        self._writer.submit(Job(flow, done))
        return await answer

    def perform_blocking(self, flow: Flow[T]) -> T:
        answer: Future[T] = Future()

        def done(job: Job) -> None:
            self._listeners.tell(_woken(job))
            _answer(answer, job)

        self._writer.submit(Job(flow, done))
        return answer.result()

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._writer.stop()

    def join(self, connection: object) -> Joined:
        return SqlJoined(self._host, recognise(connection))

    def opener(self, annotation: object, sessions: object) -> Opener | None:
        own = {SQLITE3: lambda: Sqlite3Transaction(self._host, self._open)}
        return opener_for(
            annotation, self._host, sessions, own, self.took_effect, one_at_a_time=True
        )

    @asynccontextmanager
    async def listen(self, on_wake: OnWake) -> AsyncIterator[Listener]:
        async with self._listeners.listen(on_wake) as listener:
            # Which lane another process made due is not seen: look at all of them.
            watch = WalWatch(self._path, lambda: on_wake(()))
            task = asyncio.create_task(watch.run())
            try:
                yield listener
            finally:
                task.cancel()
                await asyncio.wait([task])

    def diagnose(self) -> Diagnosis:
        return examine(self._path, self._loader, self._drive)

    # -- migrating -------------------------------------------------------------------

    def pending(self) -> list[Migration]:
        """The migrations that this file lacks."""
        with self._own_connection() as connection:
            return self._drive(connection, migrations.pending(self._loader))[0]

    def migrate_blocking(self) -> None:
        """Apply them, whatever `migrate=` says."""
        with self._own_connection() as connection:
            self._apply(connection)

    @contextmanager
    def _own_connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._open()) as connection:
                yield connection
        except FAULTS as error:
            raise explain(error, self._path) from error

    # -- on the writer's thread ------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if not self._migrate and is_missing(self._path):
            # To open it would make it.
            self._refuse(self._loader.migrations())
        connection = self._open()
        try:
            if not self._ready:
                self._prepare(connection)
                self._ready = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        missing, _ = self._drive(connection, migrations.pending(self._loader))
        self._refuse(missing)
        if missing:
            self._apply(connection)

    def _refuse(self, missing: Sequence[Migration]) -> None:
        if not self._migrate:
            migrations.refuse(missing, self._loader.names, f"sqlite:///{self._path}")

    def _apply(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._drive(connection, migrations.apply(self._loader))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _drive(self, connection: sqlite3.Connection, flow: Flow[T]) -> tuple[T, list[Wake]]:
        now = to_micros(self._clock.now())

        def fetch(statement: Statement) -> Rows:
            return connection.execute(*self._loader.bound(statement, now)).fetchall()

        return drive(statements(flow.start()), fetch)


def _woken(job: Job) -> list[Wake]:
    return [] if job.error else job.wakes


def _answer(future: asyncio.Future[T] | Future[T], job: Job) -> None:
    if future.done():
        return  # whoever asked was cancelled
    if job.error is not None:
        future.set_exception(job.error)
    else:
        future.set_result(job.value)
