"""Taking a connection of psycopg back from whatever a handler left at it: a statement under way, a
stream in the middle, a task or a thread that is at work on it.

Nobody reads a connection that another still holds: two threads in libpq end the process, and two
tasks take each other's answers. Who does not let go of it in time finds it cut.
"""

from __future__ import annotations

import asyncio
import traceback
from contextlib import suppress
from typing import NoReturn

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import Wait

from duetime.model.clock import monotonic
from duetime.store.sql.postgres.deadline import sever
from duetime.store.sql.postgres.pools import AsyncConnection, Connection
from duetime.store.sql.transactional.base import InTime
from duetime.store.transaction import LeftAtWork

# Whoever holds it has so many seconds at most to let go of it, and is cancelled so often.
PATIENCE, PAUSE = 1.0, 0.05


def take_back(
    connection: Connection, error: BaseException, timeout: float, deadline: InTime
) -> None:
    """Interrupt whoever holds it, and read what is left of an answer; LeftAtWork if somebody is at
    work on it even so."""
    if connection.lock.locked():
        with deadline():  # a stream reads on while it is closed; an async one does so in a task
            _let_go(error)
    until = monotonic() + _patience(timeout)
    while not _is_free(connection, PAUSE):
        _cancel(connection)
        if monotonic() >= until:
            _cut(connection)
    if _is_busy(connection):
        with deadline(), connection.lock:
            _cancel(connection)
            while not connection.wait(_ended(connection.pgconn)):
                _cancel(connection)


def wait_until_free(connection: Connection, timeout: float) -> None:
    """LeftAtWork if whoever holds it does not let go of it in time."""
    if not _is_free(connection, timeout):
        _cut(connection)


def _let_go(error: BaseException | None) -> None:
    """The frames that an error came through keep the streams that they named."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _is_free(connection: Connection, seconds: float) -> bool:
    lock = connection.lock
    if not lock.locked():
        return True
    if lock.acquire(timeout=seconds):
        lock.release()
        return True
    return False


def _cut(connection: Connection) -> NoReturn:
    """Whoever reads it is told so, and has a second to leave libpq before it is closed."""
    sever(connection)
    _is_free(connection, PATIENCE)
    raise LeftAtWork


def _cancel(connection: Connection) -> None:
    if _is_busy(connection):
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=PATIENCE)


def _patience(timeout: float) -> float:
    """The server, once cancelled, ends a session from which it hears nothing for `timeout`."""
    return min(PATIENCE, timeout / 4)


async def take_back_async(
    connection: AsyncConnection, error: BaseException, timeout: float, deadline: InTime
) -> None:
    if connection.lock.locked():
        _let_go(error)
    until = monotonic() + _patience(timeout)
    while not await _is_free_async(connection, PAUSE):
        await _cancel_async(connection)
        if monotonic() >= until:
            await _cut_async(connection)
    if _is_busy(connection):
        with deadline():
            async with connection.lock:
                await _cancel_async(connection)
                while not await connection.wait(_ended(connection.pgconn)):
                    await _cancel_async(connection)


async def wait_until_free_async(connection: AsyncConnection, timeout: float) -> None:
    if not await _is_free_async(connection, timeout):
        await _cut_async(connection)


async def _is_free_async(connection: AsyncConnection, seconds: float) -> bool:
    if not connection.lock.locked():
        return True
    try:
        async with asyncio.timeout(seconds), connection.lock:
            return True
    except TimeoutError:
        return False


async def _cut_async(connection: AsyncConnection) -> NoReturn:
    sever(connection)
    await _is_free_async(connection, PATIENCE)
    raise LeftAtWork


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
    if pgconn.pipeline_status != PipelineStatus.OFF:
        raise LeftAtWork  # it has no end before whoever began it says so
    while True:
        while pgconn.is_busy():
            if not (yield Wait.R):
                return False
            pgconn.consume_input()
        # Of a stream, hundreds of thousands may be on their way: none is kept.
        result = pgconn.get_result()
        if result is None:
            return True
        if result.status == ExecStatus.COPY_IN:
            pgconn.put_copy_end(b"its handler has ended")
        elif result.status == ExecStatus.COPY_OUT and not (yield from _copied_out(pgconn)):
            return False


def _copied_out(pgconn: PGconn) -> PQGen[bool]:
    while (length := pgconn.get_copy_data(1)[0]) >= 0:
        if length:
            continue
        if not (yield Wait.R):
            return False
        pgconn.consume_input()
    return True
