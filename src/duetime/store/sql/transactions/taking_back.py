"""Taking a connection of psycopg back from whatever a handler left at it: a statement under way, a
task or thread that waits for one, or a stream in the middle, which holds it though nobody reads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import Wait

from duetime.model.clock import monotonic
from duetime.store.sql.pools import AsyncConnection, Connection

# What cuts a connection off whose server no longer answers.
Deadline = Callable[[], AbstractContextManager[object]]

# Of these, no end comes by itself.
COPY = {ExecStatus.COPY_IN, ExecStatus.COPY_OUT, ExecStatus.COPY_BOTH}

# Whoever holds it has so many seconds at most to let go of it, and is cancelled so often.
PATIENCE, PAUSE = 1.0, 0.05


def take_back(connection: Connection, timeout: float, deadline: Deadline) -> None:
    """Interrupt whoever holds it; push aside who does not let go even so, and read what is left
    of the answer. Of a COPY some may be left: then nothing more can be asked of it."""
    until = monotonic() + _patience(timeout)
    while not is_free(connection, PAUSE):
        _cancel(connection)
        if monotonic() >= until:
            connection.lock = threading.Lock()
    if _is_busy(connection):
        with deadline(), connection.lock:
            _cancel(connection)
            while not connection.wait(_ended(connection.pgconn)):
                _cancel(connection)


def is_free(connection: Connection, seconds: float) -> bool:
    """Whether whoever holds it lets go of it in so many seconds."""
    lock = connection.lock
    if not lock.locked():
        return True
    if lock.acquire(timeout=seconds):
        lock.release()
        return True
    return False


def _cancel(connection: Connection) -> None:
    if _is_busy(connection):
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=PATIENCE)


def _patience(timeout: float) -> float:
    """The server, once cancelled, ends a session from which it hears nothing for `timeout`."""
    return min(PATIENCE, timeout / 4)


async def take_back_async(connection: AsyncConnection, timeout: float, deadline: Deadline) -> None:
    until = monotonic() + _patience(timeout)
    while not await is_free_async(connection, PAUSE):
        await _cancel_async(connection)
        if monotonic() >= until:
            connection.lock = asyncio.Lock()
    if _is_busy(connection):
        with deadline():
            async with connection.lock:
                await _cancel_async(connection)
                while not await connection.wait(_ended(connection.pgconn)):
                    await _cancel_async(connection)


async def is_free_async(connection: AsyncConnection, seconds: float) -> bool:
    if not connection.lock.locked():
        return True
    try:
        async with asyncio.timeout(seconds), connection.lock:
            return True
    except TimeoutError:
        return False


async def _cancel_async(connection: AsyncConnection) -> None:
    if _is_busy(connection):
        with suppress(psycopg.Error):
            await connection.cancel_safe(timeout=PATIENCE)


def _is_busy(connection: Connection | AsyncConnection) -> bool:
    """Whether a statement is under way."""
    return connection.info.transaction_status == TransactionStatus.ACTIVE


def _ended(pgconn: PGconn) -> PQGen[bool]:
    """Whether the statement that was cancelled has ended; False if for a moment nothing is heard.
    A cancel that overtakes its statement finds nothing to cancel, and must be sent again."""
    while True:
        while pgconn.is_busy():
            if not (yield Wait.R):
                return False
            pgconn.consume_input()
        # Of a stream, hundreds of thousands may be on their way: none is kept.
        result = pgconn.get_result()
        if result is None or result.status in COPY:
            return True
