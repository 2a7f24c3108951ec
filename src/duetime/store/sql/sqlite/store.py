"""The store that keeps actions in a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from os import PathLike, fspath
from typing import Any, TypeVar
from urllib.parse import quote

from duetime.model.clock import Clock, SystemClock, to_micros
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.ids import TimeOrderedIds
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Rows, Statement, Wake
from duetime.store.listeners import Listeners
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import adrive, drive, statements
from duetime.store.sql.joining.detect import detect_caller
from duetime.store.sql.joining.joined import SqlJoinedStore
from duetime.store.sql.sqlite.diagnosis import examine
from duetime.store.sql.sqlite.errors import DAMAGE_ERRORS, DRIVER_ERRORS, explain, is_missing
from duetime.store.sql.sqlite.flows import SqliteFlows
from duetime.store.sql.sqlite.join_host import SqliteHost
from duetime.store.sql.sqlite.new_file import create_private_file
from duetime.store.sql.sqlite.open_file import WatchedConnection, identity
from duetime.store.sql.sqlite.repair import RAW_STATEMENTS, Repair, Waiting
from duetime.store.sql.sqlite.stored_values import LENIENT_STATEMENTS, read_leniently, read_stored
from duetime.store.sql.sqlite.wal import WalWatcher
from duetime.store.sql.sqlite.writer import Writer, WriteRequest
from duetime.store.sql.statements.loader import Migration, StatementLoader
from duetime.store.sql.statements.table_names import DEFAULT_PREFIX, TableNames
from duetime.store.sql.transactional.factory import factory_for
from duetime.store.sql.transactional.sqlite3 import Sqlite3Transaction
from duetime.store.transaction import SQLITE3, JoinedStore, TransactionFactory

T = TypeVar("T")


class SqliteStore(SqliteFlows):
    """Keeps actions in one file, which threads and processes of one machine may share."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        prefix: str = DEFAULT_PREFIX,
        migrate: bool = True,
        clock: Clock | None = None,
        timeout: float = 5.0,
    ) -> None:
        self._path = fspath(path)
        self._migrate = migrate
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._ids = TimeOrderedIds(self._clock)
        self._loader = StatementLoader("sqlite", TableNames(prefix))
        self._listeners = Listeners()
        self._repair = Repair(self._ids)
        self._ready = False
        # The database that this process uses until it closes the store, once it has opened it.
        self._file: WatchedConnection | None = None
        self._writer = Writer(self._path, self._connect, self._drive)
        self._host = SqliteHost(
            self._path,
            self._loader,
            self._clock,
            ready=lambda: self._ready,
            refuse=self._refuse,
            check_file=self._check_file,
            wake=self._listeners.notify,
        )

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        try:
            return await self._submit(flow)
        except DAMAGE_ERRORS as error:
            return await adrive(self._repair.after(error, flow), self._await)

    def perform_blocking(self, flow: Flow[T]) -> T:
        try:
            return self._submit_blocking(flow)
        except DAMAGE_ERRORS as error:
            return drive(self._repair.after(error, flow, blocking=True), self._await_blocking)

    async def _await(self, waiting: Waiting) -> Any:
        if isinstance(waiting, Flow):
            return await self._submit(waiting)
        # Shielded: a caller that is cancelled cancels nobody else's search.
        return await asyncio.shield(asyncio.wrap_future(waiting))

    def _await_blocking(self, waiting: Waiting) -> Any:
        return self._submit_blocking(waiting) if isinstance(waiting, Flow) else waiting.result()

    async def _submit(self, flow: Flow[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def answer_caller(request: WriteRequest) -> None:
            self._listeners.notify(_wakes_of(request))
            # The loop may be closed by now; then no caller waits for the answer.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, answer, request)

        self._writer.submit(WriteRequest(flow, answer_caller))
        return await answer

    def _submit_blocking(self, flow: Flow[T]) -> T:
        answer: Future[T] = Future()

        def answer_caller(request: WriteRequest) -> None:
            self._listeners.notify(_wakes_of(request))
            _resolve(answer, request)

        self._writer.submit(WriteRequest(flow, answer_caller))
        return answer.result()

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._writer.stop()
        self._file, self._ready = None, False

    def join(self, connection: object) -> JoinedStore:
        return SqlJoinedStore(self._host, detect_caller(connection))

    def transaction_factory(
        self, annotation: object, sessions: object
    ) -> TransactionFactory | None:
        own = {SQLITE3: lambda: Sqlite3Transaction(self._host, self._open_checked)}
        return factory_for(
            annotation, self._host, sessions, own, self.took_effect, one_at_a_time=True
        )

    @asynccontextmanager
    async def listen(self, on_wake: OnWake) -> AsyncIterator[Listener]:
        async with self._listeners.listen(on_wake) as listener:
            # The file does not show which lane another process made due: wake all of them.
            watcher = WalWatcher(self._path, lambda: on_wake(()))
            task = asyncio.create_task(watcher.run())
            try:
                yield listener
            finally:
                task.cancel()
                await asyncio.wait([task])

    def diagnose(self) -> Diagnosis:
        return examine(self._path, self._loader, self._drive)

    # -- migrating -------------------------------------------------------------------

    def pending(self) -> list[Migration]:
        """Return the migrations that are not applied to this file yet."""
        with self._own_connection() as connection:
            return self._drive(connection, migrations.pending(self._loader))[0]

    def migrate_blocking(self) -> None:
        """Apply the pending migrations, even with `migrate=False`."""
        with self._own_connection() as connection:
            self._apply(connection)

    @contextmanager
    def _own_connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._open()) as connection:
                yield connection
        except DRIVER_ERRORS as error:
            raise explain(error, self._path) from error

    # -- on the writer's thread ------------------------------------------------------

    def _connect(self) -> WatchedConnection:
        if not self._migrate and self._file is None and is_missing(self._path):
            # Opening the file would create it.
            self._refuse(self._loader.migrations())
        path = os.path.abspath(self._path) if self._file is None else self._file.path
        while True:
            before = identity(path)
            connection = self._open_checked()
            file = self._prepared(connection, path)
            if file.identity == before:
                self._file = file
                return file
            # It was created just now, or replaced while we opened it.
            file.close()

    def _prepared(self, connection: sqlite3.Connection, path: str) -> WatchedConnection:
        try:
            if not self._ready:
                self._prepare(connection)
                self._ready = True
            return WatchedConnection(connection, path)
        except BaseException:
            connection.close()
            raise

    def _open_checked(self) -> sqlite3.Connection:
        """Open the database. The one that this process knows is never created anew, which would
        hide that it is gone."""
        self._check_file()
        if self._file is None:
            return self._open()
        return self._open(f"file:{quote(os.fsencode(self._file.path))}?mode=rw")

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def _open(self, uri: str | None = None) -> sqlite3.Connection:
        if uri is None:
            create_private_file(self._path)
        connection = sqlite3.connect(
            uri or self._path,
            uri=uri is not None,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
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
            migrations.refuse_missing(missing, self._loader.names, f"sqlite:///{self._path}")

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
            text, params = self._loader.bind(statement, now)
            if statement.name in RAW_STATEMENTS:
                return read_stored(connection, text, params)
            if statement.name in LENIENT_STATEMENTS:
                return read_leniently(connection, text, params)
            return connection.execute(text, params).fetchall()

        return drive(statements(flow.start()), fetch)


def _wakes_of(request: WriteRequest) -> list[Wake]:
    return [] if request.error else request.wakes


def _resolve(future: asyncio.Future[T] | Future[T], request: WriteRequest) -> None:
    if future.done():
        return  # the caller was cancelled
    if request.error is not None:
        future.set_exception(request.error)
    else:
        future.set_result(request.value)
