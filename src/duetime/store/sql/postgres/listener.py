"""Receives the NOTIFY messages of other processes, on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg

from duetime.errors import DuetimeError
from duetime.logs import get_log
from duetime.model.clock import monotonic
from duetime.model.validation import amount
from duetime.store.base import OnWake
from duetime.store.flow import Wake
from duetime.store.outage_log import OutageLog
from duetime.store.sql.postgres.deadline import sever
from duetime.store.sql.postgres.notify import parse_message
from duetime.store.sql.postgres.pools import AsyncConnection

log = get_log("duetime.store")

# A ping that takes longer to come back means that the connection receives nothing: it is deaf.
PING_TIMEOUT_SECONDS = 5.0
FIRST_BACKOFF_SECONDS = 0.2
# While the server cannot be reached: it may be back at any moment.
MAX_OUTAGE_BACKOFF_SECONDS = 5.0
# A connection that is replaced at once is no problem to report.
PROBLEM_AFTER_SECONDS = 3.0
# Of messages that are refused, these numbers are logged.
LOGGED_REFUSALS = (1, 100, 10_000, 1_000_000)
# While each new connection turns out deaf: behind a pooler the next one will be deaf too.
MAX_DEAF_BACKOFF_SECONDS = 60.0


class PostgresListener:
    """Listens until its task is cancelled; replaces a connection that breaks or turns deaf.

    A deaf connection can look healthy: it is half open, or a pooler passed LISTEN on to whichever
    session was free. So each sweep sends a ping, and the ping must come back.
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
        self._expected_ping = self._last_ping = 0
        # Since when wakes are missed, and why; None before the first attempt to listen.
        self._silent_since: float | None = None
        self._silent_because: object = "there was no connection yet"
        self.refused_wakes = 0
        self._deaf = False
        self._fell_deaf = False
        self._backoff = FIRST_BACKOFF_SECONDS
        self._outage = OutageLog(log, "not listening, polling faster meanwhile", "listening again")

    @property
    def alive(self) -> bool:
        return self._connection is not None and not self._deaf

    @property
    def problem(self) -> str | None:
        """Why wakes of other processes are missed; None while they arrive, for a moment after they
        stopped, and before `run` was called."""
        if self.alive or self._silent_since is None:
            return None
        silent = monotonic() - self._silent_since
        if silent < PROBLEM_AFTER_SECONDS:
            return None
        return f"not listening for {amount(silent)}: {self._silent_because}"

    async def run(self) -> None:
        self._silent_since = monotonic()
        while True:
            self._fell_deaf = False
            try:
                await self._listen()
            except (psycopg.Error, DuetimeError, OSError) as error:
                # Whatever broke this connection, the next one may work.
                # The other lines of the message are advice for server administrators.
                self._silent_because = str(error).split("\n")[0]
                self._outage.failed(self._silent_because)
            except Exception as error:  # noqa: BLE001 - no failure may leave the worker deaf
                self._silent_because = repr(error)
                self._outage.failed(repr(error), exc_info=error)
            await asyncio.sleep(self._backoff)
            max_backoff = (
                MAX_DEAF_BACKOFF_SECONDS if self._fell_deaf else MAX_OUTAGE_BACKOFF_SECONDS
            )
            self._backoff = min(self._backoff * 2, max_backoff)

    def expect(self, ping: int) -> None:
        """Expect this ping, which is about to be sent; may be called from any thread."""
        self._expected_ping = ping
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(
                self._loop.call_later, PING_TIMEOUT_SECONDS, self._check, ping, self._connection
            )

    async def _listen(self) -> None:
        connection = await self._connect()
        try:
            await connection.execute(f"LISTEN {self._channel}".encode())
            self._connection = connection
            # Wakes sent before LISTEN were missed: an empty wake makes the worker look ahead.
            self._on_wake(())
            async for notify in connection.notifies():
                self._receive(notify.payload)
        finally:
            self._fall_silent()
            self._connection = None
            await connection.close()

    def _fall_silent(self) -> None:
        if self.alive:
            self._silent_since = monotonic()

    def _receive(self, payload: str) -> None:
        try:
            notice = parse_message(payload)
        except Exception as error:  # noqa: BLE001 - strangers choose on what the parser fails
            self._refuse(payload, error)
            return
        if notice.sender != self._sender:
            if notice.due is None or notice.due:
                self._on_wake([Wake(lane, due_at, 0) for lane, due_at in notice.due or ()])
        elif notice.ping is not None and notice.ping <= self._expected_ping:
            self._last_ping = max(self._last_ping, notice.ping)
            self._deaf = False
            self._backoff = FIRST_BACKOFF_SECONDS
            self._outage.recovered()

    def _refuse(self, payload: str, error: Exception) -> None:
        self.refused_wakes += 1
        if self.refused_wakes in LOGGED_REFUSALS:
            log.warning(
                "refused a message on channel %s, number %d of such: %s (%.100r); any role that "
                "may connect to the database can send messages",
                self._channel,
                self.refused_wakes,
                error,
                payload,
            )

    def _check(self, ping: int, connection: AsyncConnection | None) -> None:
        # Only the connection that was open when the ping was sent could have received it.
        if self._last_ping < ping and connection is not None and connection is self._connection:
            self._fall_silent()
            self._silent_because = "a message to itself did not come back"
            self._deaf = self._fell_deaf = True
            sever(connection)
