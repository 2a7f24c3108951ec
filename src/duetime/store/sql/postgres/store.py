"""The store in a PostgreSQL database: a cluster of processes may share it."""

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
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Mode, Rows, Series, Statement, Steps, Wake
from duetime.store.listeners import Listeners
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import Command, Pinned, adrive, drive
from duetime.store.sql.flows.sql_store import SqlFlows
from duetime.store.sql.joining.detect import recognise
from duetime.store.sql.joining.joined import SqlJoined
from duetime.store.sql.postgres.batcher import Gathering
from duetime.store.sql.postgres.notify import Bell, told_quietly
from duetime.store.sql.statements.loader import Loader, Migration
from duetime.store.sql.statements.table_names import WRITTEN, Names

try:
    import psycopg  # noqa: F401 - asks whether it is there
except ImportError as missing:
    raise ConfigError(
        "a postgresql:// URL needs psycopg: pip install 'duetime[postgres]'"
    ) from missing

from duetime.store.sql.postgres.attempt import Attempt, Sent, pins, settings
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline
from duetime.store.sql.postgres.diagnosis import examine
from duetime.store.sql.postgres.errors import FAULTS
from duetime.store.sql.postgres.join_host import PostgresHost
from duetime.store.sql.postgres.listener import PostgresListener
from duetime.store.sql.postgres.notify import ping_message, wake_message
from duetime.store.sql.postgres.pipelines import sent_eagerly, sent_whole
from duetime.store.sql.postgres.pools import AsyncCursor, Cursor, Pools, Shelf
from duetime.store.sql.postgres.prepared import WHO, must_ask_who, notice_session
from duetime.store.sql.postgres.server import Server
from duetime.store.sql.transactional.factory import ASYNC_PSYCOPG, PSYCOPG, Make, opener_for
from duetime.store.sql.transactional.psycopg import AsyncPsycopgTransaction, PsycopgTransaction
from duetime.store.transaction import Joined, Opener

T = TypeVar("T")


class PostgresStore(SqlFlows):
    """Keeps nothing in a session but plans, and those not behind a pooler: one in transaction
    mode may stand between."""

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        prefix: str = WRITTEN,
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
        self._loader = Loader("postgres", Names(prefix, schema))
        self._settings = settings(timeout)
        self._pools = Pools(self._server.connect, self._server.aconnect, pool_size, timeout)
        # Of their own, or handlers that keep theirs would keep claims and completions waiting.
        self._lent = Pools(self._server.connect, self._server.aconnect, pool_size, None)
        self._listeners = Listeners()
        self._bell = Bell(self._send)
        self._gatherings: WeakKeyDictionary[asyncio.AbstractEventLoop, Gathering] = (
            WeakKeyDictionary()
        )
        self._remote: list[PostgresListener] = []
        self._sender = uuid4().hex
        self._pings = count(1)
        self._ready = False
        self._host = PostgresHost(
            self._server.name,
            self,
            self._loader,
            self._clock,
            pins=pins(timeout),
            soon=self._soon,
            wake=self._wake_after_caller,
        )

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        if not self._ready:
            await self._prepare()
        if flow.together is not None:
            return await self._gathering().perform(flow.together)
        return await self._perform(flow)

    def perform_blocking(self, flow: Flow[T]) -> T:
        if not self._ready:
            self._prepare_blocking()
        return self._perform_blocking(flow)

    async def aclose(self) -> None:
        await self._bell.flush()
        self.close()

    def close(self) -> None:
        self._pools.close()
        self._lent.close()

    def _gathering(self) -> Gathering:
        loop = asyncio.get_running_loop()
        found = self._gatherings.get(loop)
        if found is None:
            found = self._gatherings[loop] = Gathering(self._perform, self._timeout)
        return found

    async def _perform(self, flow: Flow[T]) -> T:
        for tries in count(1):
            attempt = self._attempt(flow)
            try:
                return await self._try(attempt)
            except FAULTS as error:
                self._distrust(attempt, self._pools.of_loop().shelf)
                await asyncio.sleep(attempt.pause(error, tries, self._server.name))
                flow = flow.resent or flow
        raise AssertionError("unreachable")

    def _perform_blocking(self, flow: Flow[T]) -> T:
        for tries in count(1):
            attempt = self._attempt(flow)
            try:
                return self._try_blocking(attempt)
            except FAULTS as error:
                self._distrust(attempt, self._pools.of_threads().shelf)
                time.sleep(attempt.pause(error, tries, self._server.name))
                flow = flow.resent or flow
        raise AssertionError("unreachable")

    async def _try(self, attempt: Attempt[T]) -> T:
        async with self._pools.of_loop().connection() as connection:
            deadline = LoopDeadline(connection, self._patience(attempt), attempt.is_overdue)

            async def execute(step: Statement | Command, *, kept: bool = False) -> AsyncCursor:
                text, params = self._message(step)
                binary = _is_binary(step)
                return await connection.execute(text, params, prepare=kept, binary=binary)

            async def fetch(step: Sent) -> Rows:
                if isinstance(step, Pinned):
                    async with connection.pipeline() as pipeline:
                        sent_whole(pipeline)
                        told = await execute(step.settings, kept=True)
                        cursor = await execute(step.statement, kept=True)
                    [(*_, process)] = await told.fetchall()
                    notice_session(connection, process)
                elif isinstance(step, Series):
                    return await fetch_all(step)
                else:
                    cursor = await execute(step)
                return await cursor.fetchall() if cursor.description else ()

            async def fetch_all(series: Series) -> Rows:
                if must_ask_who(connection):
                    [(process,)] = await (await execute(WHO)).fetchall()
                    notice_session(connection, process)
                sent: list[AsyncCursor] = []
                async with connection.pipeline() as pipeline:
                    sent_eagerly(pipeline)
                    for statement in series.statements:
                        sent.append(await execute(statement, kept=True))
                        deadline.put_off()
                        # What is made for long must not hold up all else.
                        await asyncio.sleep(0)
                return [row for cursor in sent for row in await cursor.fetchall()]

            with deadline:
                return await adrive(attempt.steps(), fetch)

    def _try_blocking(self, attempt: Attempt[T]) -> T:
        with self._pools.of_threads().connection() as connection:
            deadline = ThreadDeadline(connection, self._patience(attempt), attempt.is_overdue)

            def execute(step: Statement | Command, *, kept: bool = False) -> Cursor:
                text, params = self._message(step)
                binary = _is_binary(step)
                return connection.execute(text, params, prepare=kept, binary=binary)

            def fetch(step: Sent) -> Rows:
                if isinstance(step, Pinned):
                    with connection.pipeline() as pipeline:
                        sent_whole(pipeline)
                        told = execute(step.settings, kept=True)
                        cursor = execute(step.statement, kept=True)
                    [(*_, process)] = told.fetchall()
                    notice_session(connection, process)
                elif isinstance(step, Series):
                    return fetch_all(step)
                else:
                    cursor = execute(step)
                return cursor.fetchall() if cursor.description else ()

            def fetch_all(series: Series) -> Rows:
                if must_ask_who(connection):
                    [(process,)] = execute(WHO).fetchall()
                    notice_session(connection, process)
                sent: list[Cursor] = []
                with connection.pipeline() as pipeline:
                    sent_eagerly(pipeline)
                    for statement in series.statements:
                        sent.append(execute(statement, kept=True))
                        deadline.put_off()
                return [row for cursor in sent for row in cursor.fetchall()]

            with deadline:
                return drive(attempt.steps(), fetch)

    def _distrust(self, attempt: Attempt[T], shelf: Shelf[Any]) -> None:
        """Where one connection fell silent, the idle ones of its age may be dead too: to find
        out one by one would take a deadline each."""
        if attempt.overdue:
            shelf.close()

    def _patience(self, attempt: Attempt[T]) -> float:
        within = attempt.flow.within
        return self._timeout if within is None else min(within, self._timeout)

    def _attempt(self, flow: Flow[T]) -> Attempt[T]:
        return Attempt(flow, self._settings.get(flow.mode), self._tell)

    def _message(self, step: Statement | Command) -> tuple[bytes, Any]:
        if isinstance(step, Command):
            return step.text.encode(), None
        now = None if self._clock is None else to_micros(self._clock.now())
        text, params = self._loader.bound(step, now)
        return text.encode(), params

    def join(self, connection: object) -> Joined:
        return SqlJoined(self._host, recognise(connection))

    def opener(self, annotation: object, sessions: object) -> Opener | None:
        own: dict[str, Make] = {
            PSYCOPG: lambda: PsycopgTransaction(self._host, self._lent, self._timeout),
            ASYNC_PSYCOPG: lambda: AsyncPsycopgTransaction(self._host, self._lent, self._timeout),
        }
        return opener_for(
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
            self._remote.append(remote)
            try:
                yield remote
            finally:
                self._remote.remove(remote)
                task.cancel()
                await asyncio.wait([task])

    def _tell(self, wakes: Sequence[Wake]) -> Statement | None:
        """Wake those of our process; what to send to the others, if it is soon enough."""
        self._listeners.tell(wakes)
        now = self._bell.ring(self._soon(wakes))
        return self._notice(now) if now else None

    def _soon(self, wakes: Sequence[Wake]) -> list[Wake]:
        return [wake for wake in wakes if wake.due_at < wake.now + self._notify_within]

    def _wake_after_caller(self, wakes: Sequence[Wake]) -> None:
        """A transaction of a caller's was committed; its connection is not ours to use now."""
        self._listeners.tell(wakes)
        left = self._bell.ring_later(self._soon(wakes))
        if left:
            with told_quietly():
                self._perform_blocking(self._notifying(left))

    def _notice(self, wakes: Sequence[Wake]) -> Statement:
        message = wake_message(self._sender, wakes)
        channel = self._loader.names.channel
        return Statement("notify", {"channel": channel, "message": message, "alone": True})

    async def _send(self, wakes: Sequence[Wake]) -> None:
        await self._perform(self._notifying(wakes))

    def _notifying(self, wakes: Sequence[Wake]) -> Flow[None]:
        def steps() -> Steps[None]:
            yield self._notice(wakes)

        return Flow(steps, Mode.single)

    def _ping(self) -> dict[str, object]:
        if not self._remote:
            return {}
        ping = next(self._pings)
        for remote in self._remote:
            remote.expect(ping)
        channel = self._loader.names.channel
        return {"channel": channel, "ping": ping_message(self._sender, ping)}

    def diagnose(self) -> Diagnosis:
        return examine(
            self._server, self._loader, self._perform_blocking, listening=self._listening
        )

    # -- migrating -------------------------------------------------------------------

    def pending(self) -> list[Migration]:
        """The migrations that this database lacks."""
        return self._perform_blocking(migrations.pending(self._loader))

    def migrate_blocking(self) -> None:
        """Apply them, whatever `migrate=` says."""
        self._perform_blocking(migrations.apply(self._loader))

    async def _prepare(self) -> None:
        missing = await self._perform(migrations.pending(self._loader))
        if not self._migrate:
            migrations.refuse(missing, self._loader.names, self._url)
        elif missing:
            await self._perform(migrations.apply(self._loader))
        self._ready = True

    def _prepare_blocking(self) -> None:
        missing = self.pending()
        if not self._migrate:
            migrations.refuse(missing, self._loader.names, self._url)
        elif missing:
            self.migrate_blocking()
        self._ready = True


def _is_binary(step: Statement | Command) -> bool:
    """Numbers and ids are read faster in binary; but then one message is one statement."""
    return isinstance(step, Statement)
