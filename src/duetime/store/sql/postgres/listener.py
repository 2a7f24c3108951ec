"""Hears what other processes tell through NOTIFY, on a connection of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg

from duetime.errors import DuetimeError
from duetime.store.base import OnWake
from duetime.store.flow import Wake
from duetime.store.outage_log import Outage
from duetime.store.sql.postgres.deadline import sever
from duetime.store.sql.postgres.notify import parse
from duetime.store.sql.postgres.pools import AsyncConnection

log = logging.getLogger("duetime.store")

# A ping that takes longer than this to come back means that we are deaf.
PATIENCE = 5.0
FIRST_PAUSE = 0.2
# Between attempts to connect while the server cannot be reached: it may be back any moment.
LONGEST_OUTAGE_PAUSE = 5.0
# Between connections that all turn out deaf: behind a pooler the next one will be too.
LONGEST_PAUSE = 60.0


class PostgresListener:
    """Listens until its task is cancelled; a connection that breaks or falls silent is replaced.

    A connection can be deaf and look well: half open, or behind a pooler that passes LISTEN
    on to whichever session is free. So each sweep sends a ping, and it must come back.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[AsyncConnection]],
        channel: str,
        sender: str,
        on_wake: OnWake,
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._sender = sender
        self._on_wake = on_wake
        self._loop = asyncio.get_running_loop()
        self._connection: AsyncConnection | None = None
        self._heard = 0
        self._deaf = False
        self._fell_deaf = False
        self._pause = FIRST_PAUSE
        self._outage = Outage(log, "not listening, polling faster meanwhile", "listening again")

    @property
    def alive(self) -> bool:
        return self._connection is not None and not self._deaf

    async def run(self) -> None:
        while True:
            self._fell_deaf = False
            try:
                await self._listen()
            except (psycopg.Error, DuetimeError, OSError) as error:
                # Whatever broke it, the next one may do.
                self._outage.failed(error)
            await asyncio.sleep(self._pause)
            longest = LONGEST_PAUSE if self._fell_deaf else LONGEST_OUTAGE_PAUSE
            self._pause = min(self._pause * 2, longest)

    def expect(self, ping: int) -> None:
        """A ping is about to be sent, from whichever thread."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(
                self._loop.call_later, PATIENCE, self._check, ping, self._connection
            )

    async def _listen(self) -> None:
        connection = await self._connect()
        try:
            await connection.execute(f"LISTEN {self._channel}".encode())
            self._connection = connection
            # What was told while nobody listened is found by looking.
            self._on_wake(())
            async for notify in connection.notifies():
                self._hear(notify.payload)
        finally:
            self._connection = None
            await connection.close()

    def _hear(self, payload: str) -> None:
        notice = parse(payload)
        if notice is None:
            return
        if notice.sender != self._sender:
            if notice.due is None or notice.due:
                self._on_wake([Wake(lane, due_at, 0) for lane, due_at in notice.due or ()])
        elif notice.ping is not None:
            self._heard = max(self._heard, notice.ping)
            self._deaf = False
            self._pause = FIRST_PAUSE
            self._outage.over()

    def _check(self, ping: int, connection: AsyncConnection | None) -> None:
        # Only the connection that was there when the ping was sent could have heard it.
        if self._heard < ping and connection is not None and connection is self._connection:
            self._deaf = self._fell_deaf = True
            sever(connection)
