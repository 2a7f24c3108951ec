"""The PostgreSQL store, which many processes may share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

from duetime.errors import ConfigError
from duetime.model.clock import Clock, SettableClock, SystemClock, micros_of, to_micros
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import EVENTS_LANE
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Mode, Pipeline, Rows, Statement, Steps, Wake
from duetime.store.listeners import Listeners
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import Command, StatementWithSettings, adrive, drive
from duetime.store.sql.flows.sql_store import SqlStore
from duetime.store.sql.joining.detect import detect_caller
from duetime.store.sql.joining.joined import SqlJoinedStore
from duetime.store.sql.postgres.batcher import Batcher
from duetime.store.sql.postgres.notify import NotifyThrottle, log_failed_notify
from duetime.store.sql.statements.access import LATE_INDEXES
from duetime.store.sql.statements.loader import Migration, StatementLoader
from duetime.store.sql.statements.table_names import DEFAULT_PREFIX, TableNames

try:
    import psycopg  # noqa: F401 - checks that it is installed
except ImportError as missing:
    raise ConfigError(
        "a postgresql:// URL needs psycopg: pip install 'duetime[postgres]'"
    ) from missing

from duetime.store.sql.postgres.attempt import Attempt, Message, plan_settings, settings_by_mode
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline
from duetime.store.sql.postgres.diagnosis import examine
from duetime.store.sql.postgres.errors import DRIVER_ERRORS
from duetime.store.sql.postgres.join_host import PostgresJoinHost
from duetime.store.sql.postgres.late_indexes import LateIndexes, ready_steps
from duetime.store.sql.postgres.listener import PostgresListener
from duetime.store.sql.postgres.notify import ping_message, wake_message
from duetime.store.sql.postgres.pipelines import send_eagerly, send_whole
from duetime.store.sql.postgres.pools import AsyncCursor, Cursor, IdleConnections, Pools
from duetime.store.sql.postgres.prepared import BACKEND_PID_QUERY, backend_unknown, observe_backend
from duetime.store.sql.postgres.server import Server
from duetime.store.sql.transactional.factory import MakeTransaction, factory_for
from duetime.store.sql.transactional.psycopg import AsyncPsycopgTransaction, PsycopgTransaction
from duetime.store.transaction import ASYNC_PSYCOPG, PSYCOPG, JoinedStore, TransactionFactory

T = TypeVar("T")


class PostgresStore(SqlStore):
    """Store in a PostgreSQL database.

    Works behind a pooler in transaction mode: no session state is kept except prepared
    statements, and those only without a pooler.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        prefix: str = DEFAULT_PREFIX,
        migrate: bool = True,
        clock: Clock | None = None,
        timeout: float = 10.0,
        notify_within: float = 15.0,
        listen: bool = True,
        pool_size: int = 10,
        application_name: str = "duetime",
    ) -> None:
        self._url = url
        self._server = Server(url, timeout, application_name)
        self._migrate = migrate
        self._clock = clock if isinstance(clock, SettableClock) else None
        self._timeout = timeout
        self._notify_within = micros_of(notify_within)
        self._listening = listen
        self._ids = TimeOrderedIds(clock or SystemClock())
        self._loader = StatementLoader("postgres", TableNames(prefix, schema))
        self._settings = settings_by_mode(timeout)
        self._pools = Pools(self._server.connect, self._server.aconnect, pool_size, timeout)
        # Separate pools: handlers that keep connections for long must not block claims.
        self._handler_pools = Pools(self._server.connect, self._server.aconnect, pool_size, None)
        self._listeners = Listeners()
        self._throttle = NotifyThrottle(self._send)
        self._batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, Batcher] = WeakKeyDictionary()
        self._remote_listeners: list[PostgresListener] = []
        self._sender = uuid4().hex
        self._pings = count(1)
        self._ready = False
        self._late_indexes: frozenset[str] = frozenset()
        self._host = PostgresJoinHost(
            self._server.name,
            self,
            self._loader,
            self._clock,
            settings=plan_settings(timeout),
            due_soon=self._due_soon,
            wake=self._wake_after_caller,
        )

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        if not self._ready:
            await self._prepare()
        if flow.batchable is not None:
            return await self._batcher().perform(flow.batchable)
        return await self._perform(flow)

    def perform_blocking(self, flow: Flow[T]) -> T:
        if not self._ready:
            self._prepare_blocking()
        return self._perform_blocking(flow)

    async def aclose(self) -> None:
        await self._throttle.flush()
        self.close()

    def close(self) -> None:
        self._pools.close()
        self._handler_pools.close()

    def _batcher(self) -> Batcher:
        loop = asyncio.get_running_loop()
        found = self._batchers.get(loop)
        if found is None:
            found = self._batchers[loop] = Batcher(self._perform, self._timeout)
        return found

    async def _perform(self, flow: Flow[T]) -> T:
        for tries in count(1):
            attempt = self._attempt(flow)
            try:
                return await self._try(attempt)
            except DRIVER_ERRORS as error:
                self._close_idle_if_overdue(attempt, self._pools.for_loop().idle)
                await asyncio.sleep(attempt.retry_delay(error, tries))
                flow = flow.replay or flow
        raise AssertionError("unreachable")

    def _perform_blocking(self, flow: Flow[T]) -> T:
        for tries in count(1):
            attempt = self._attempt(flow)
            try:
                return self._try_blocking(attempt)
            except DRIVER_ERRORS as error:
                self._close_idle_if_overdue(attempt, self._pools.for_threads().idle)
                time.sleep(attempt.retry_delay(error, tries))
                flow = flow.replay or flow
        raise AssertionError("unreachable")

    async def _try(self, attempt: Attempt[T]) -> T:
        async with self._pools.for_loop().connection() as connection:
            deadline = LoopDeadline(connection, self._timeout_for(attempt), attempt.mark_overdue)

            async def execute(step: Statement | Command, *, prepared: bool = False) -> AsyncCursor:
                text, params = self._message(step)
                binary = _is_binary(step)
                return await connection.execute(text, params, prepare=prepared, binary=binary)

            async def fetch(step: Message) -> Rows:
                if isinstance(step, StatementWithSettings):
                    async with connection.pipeline() as pipeline:
                        send_whole(pipeline)
                        settings_cursor = await execute(step.settings, prepared=True)
                        cursor = await execute(step.statement, prepared=True)
                    [(*_, backend_pid)] = await settings_cursor.fetchall()
                    observe_backend(connection, backend_pid)
                elif isinstance(step, Pipeline):
                    return await fetch_all(step)
                else:
                    cursor = await execute(step)
                return await cursor.fetchall() if cursor.description else ()

            async def fetch_all(steps: Pipeline) -> Rows:
                if backend_unknown(connection):
                    [(backend_pid,)] = await (await execute(BACKEND_PID_QUERY)).fetchall()
                    observe_backend(connection, backend_pid)
                sent: list[AsyncCursor] = []
                async with connection.pipeline() as pipeline:
                    send_eagerly(pipeline)
                    for statement in steps.statements:
                        sent.append(await execute(statement, prepared=True))
                        deadline.extend()
                        # Building statements takes long: let other tasks run in between.
                        await asyncio.sleep(0)
                return [row for cursor in sent for row in await cursor.fetchall()]

            with deadline:
                return await adrive(attempt.steps(), fetch)

    def _try_blocking(self, attempt: Attempt[T]) -> T:
        with self._pools.for_threads().connection() as connection:
            deadline = ThreadDeadline(connection, self._timeout_for(attempt), attempt.mark_overdue)

            def execute(step: Statement | Command, *, prepared: bool = False) -> Cursor:
                text, params = self._message(step)
                binary = _is_binary(step)
                return connection.execute(text, params, prepare=prepared, binary=binary)

            def fetch(step: Message) -> Rows:
                if isinstance(step, StatementWithSettings):
                    with connection.pipeline() as pipeline:
                        send_whole(pipeline)
                        settings_cursor = execute(step.settings, prepared=True)
                        cursor = execute(step.statement, prepared=True)
                    [(*_, backend_pid)] = settings_cursor.fetchall()
                    observe_backend(connection, backend_pid)
                elif isinstance(step, Pipeline):
                    return fetch_all(step)
                else:
                    cursor = execute(step)
                return cursor.fetchall() if cursor.description else ()

            def fetch_all(steps: Pipeline) -> Rows:
                if backend_unknown(connection):
                    [(backend_pid,)] = execute(BACKEND_PID_QUERY).fetchall()
                    observe_backend(connection, backend_pid)
                sent: list[Cursor] = []
                with connection.pipeline() as pipeline:
                    send_eagerly(pipeline)
                    for statement in steps.statements:
                        sent.append(execute(statement, prepared=True))
                        deadline.extend()
                return [row for cursor in sent for row in cursor.fetchall()]

            with deadline:
                return drive(attempt.steps(), fetch)

    def _close_idle_if_overdue(self, attempt: Attempt[T], idle: IdleConnections[Any]) -> None:
        """Close the idle connections after a timeout: they may be dead too, and each would cost
        another timeout to find out."""
        if attempt.overdue:
            idle.close()

    def _timeout_for(self, attempt: Attempt[T]) -> float:
        within = attempt.flow.deadline
        return self._timeout if within is None else min(within, self._timeout)

    def _attempt(self, flow: Flow[T]) -> Attempt[T]:
        return Attempt(flow, self._settings.get(flow.mode), self._notify, self._server.name)

    def _message(self, step: Statement | Command) -> tuple[bytes, Any]:
        if isinstance(step, Command):
            return step.text.encode(), None
        now = None if self._clock is None else to_micros(self._clock.now())
        text, params = self._loader.bind(step, now)
        return text.encode(), params

    def join(self, connection: object) -> JoinedStore:
        return SqlJoinedStore(self._host, detect_caller(connection))

    def transaction_factory(
        self, annotation: object, sessions: object
    ) -> TransactionFactory | None:
        own: dict[str, MakeTransaction] = {
            PSYCOPG: lambda: PsycopgTransaction(self._host, self._handler_pools, self._timeout),
            ASYNC_PSYCOPG: lambda: AsyncPsycopgTransaction(
                self._host, self._handler_pools, self._timeout
            ),
        }
        return factory_for(
            annotation, self._host, sessions, own, self.took_effect, timeout=self._timeout
        )

    # -- waking ----------------------------------------------------------------------

    @asynccontextmanager
    async def listen(self, on_wake: OnWake) -> AsyncIterator[Listener]:
        remote = PostgresListener(
            self._server.aconnect, self._loader.names.channel, self._sender, on_wake
        )
        async with self._listeners.listen(on_wake):
            if not self._listening:
                yield remote
                return
            task = asyncio.create_task(remote.run())
            self._remote_listeners.append(remote)
            try:
                yield remote
            finally:
                self._remote_listeners.remove(remote)
                task.cancel()
                await asyncio.wait([task])

    def _notify(self, wakes: Sequence[Wake]) -> Statement | None:
        """Wake the listeners of this process; return the NOTIFY to send to others, if any."""
        if not wakes:
            return None
        self._listeners.notify(wakes)
        now = self._throttle.take_sendable(self._due_soon(wakes))
        return self._notify_statement(now) if now else None

    def _due_soon(self, wakes: Sequence[Wake]) -> list[Wake]:
        """Return the wakes that others must hear of before their next poll."""
        until = self._notify_within
        return [w for w in wakes if w.due_at < w.now + until and w.lane != EVENTS_LANE]

    def _wake_after_caller(self, wakes: Sequence[Wake]) -> None:
        """Wake listeners after a caller's commit, over a connection of our own."""
        self._listeners.notify(wakes)
        left = self._throttle.send_later(self._due_soon(wakes))
        if left:
            with log_failed_notify():
                self._perform_blocking(self._notify_flow(left))

    wakes_others = True

    def wake_others(self, lanes: Sequence[str]) -> None:
        self._perform_blocking(self._notify_flow([Wake(lane, 0, 0) for lane in lanes]))

    def _notify_statement(self, wakes: Sequence[Wake]) -> Statement:
        message = wake_message(self._sender, wakes)
        channel = self._loader.names.channel
        return Statement("notify", {"channel": channel, "message": message, "alone": True})

    async def _send(self, wakes: Sequence[Wake]) -> None:
        await self._perform(self._notify_flow(wakes))

    def _notify_flow(self, wakes: Sequence[Wake]) -> Flow[None]:
        def steps() -> Steps[None]:
            yield self._notify_statement(wakes)

        return Flow(steps, Mode.single)

    def _ping(self) -> dict[str, object]:
        if not self._remote_listeners:
            return {}
        ping = next(self._pings)
        for remote in self._remote_listeners:
            remote.expect(ping)
        channel = self._loader.names.channel
        return {"channel": channel, "ping": ping_message(self._sender, ping)}

    def diagnose(self) -> Diagnosis:
        return examine(
            self._server, self._loader, self._perform_blocking, listening=self._listening
        )

    # -- migrating -------------------------------------------------------------------

    def _ready_indexes(self) -> Steps[frozenset[str]]:
        if self._late_indexes != LATE_INDEXES:
            self._late_indexes = yield from ready_steps(self._loader)
        return self._late_indexes

    async def build_indexes(self, *, by_operator: bool = False) -> bool:
        if not (self._migrate or by_operator):
            return True
        return await LateIndexes(self._server, self._loader).build()

    def pending(self) -> list[Migration]:
        """Return the migrations that have not been applied to this database."""
        return self._perform_blocking(migrations.pending(self._loader))

    def migrate_blocking(self) -> None:
        """Apply pending migrations, even with `migrate=False`."""
        while not self._perform_blocking(migrations.apply(self._loader)):
            pass

    async def _prepare(self) -> None:
        missing = await self._perform(migrations.pending(self._loader))
        if not self._migrate:
            migrations.refuse_missing(missing, self._loader.names, self._url)
        while missing and not await self._perform(migrations.apply(self._loader)):
            pass
        self._ready = True

    def _prepare_blocking(self) -> None:
        missing = self.pending()
        if not self._migrate:
            migrations.refuse_missing(missing, self._loader.names, self._url)
        elif missing:
            self.migrate_blocking()
        self._ready = True


def _is_binary(step: Statement | Command) -> bool:
    """Return whether to ask for binary results: faster for numbers and ids, but only one statement
    fits into a message then."""
    return isinstance(step, Statement)
