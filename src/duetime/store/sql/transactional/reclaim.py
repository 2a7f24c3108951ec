"""Reclaims a psycopg connection from a handler that raised.

The handler may have left a statement under way, a stream half read, or a task or thread that uses
the connection. A connection is never read while another user holds its lock: two threads in libpq
crash the process, and two tasks take each other's answers. A user that does not release the lock
in time has its connection severed.
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
from duetime.store.sql.transactional.base import DeadlineFactory
from duetime.store.transaction import ConnectionStillInUse

# How long another user of the connection may hold its lock, and how often it is cancelled.
RELEASE_TIMEOUT_SECONDS, CANCEL_INTERVAL_SECONDS = 1.0, 0.05
# The type of `aclose()`, which an event loop runs for each async generator that was dropped.
GENERATOR_CLOSE_TYPE = "async_generator_athrow"


def reclaim(
    connection: Connection, error: BaseException, timeout: float, deadline: DeadlineFactory
) -> None:
    """Interrupt users of the connection, and discard the rest of an answer.

    Raises ConnectionStillInUse if a user does not release the connection.
    """
    if connection.lock.locked():
        with deadline():  # closing a stream reads the rows that the server has already sent
            _release_frames(error)
    until = monotonic() + _release_timeout(timeout)
    while not _is_free(connection, CANCEL_INTERVAL_SECONDS):
        _cancel(connection)
        if monotonic() >= until:
            _sever_and_refuse(connection)
    if _is_busy(connection):
        with deadline(), connection.lock:
            _cancel(connection)
            while not connection.wait(_drain(connection.pgconn)):
                _cancel(connection)


def wait_until_free(connection: Connection, timeout: float) -> None:
    """Raise ConnectionStillInUse if the connection is not released within `timeout` seconds."""
    if not _is_free(connection, timeout):
        _sever_and_refuse(connection)


def _release_frames(error: BaseException | None) -> None:
    """Clear the frames of a traceback: their variables keep the handler's streams open."""
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


def _sever_and_refuse(connection: Connection) -> NoReturn:
    """Sever the connection; a user that reads it has a second to leave libpq before it closes."""
    sever(connection)
    _is_free(connection, RELEASE_TIMEOUT_SECONDS)
    raise ConnectionStillInUse


def _cancel(connection: Connection) -> None:
    if _is_busy(connection):
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=RELEASE_TIMEOUT_SECONDS)


def _release_timeout(timeout: float) -> float:
    """Stay well below `timeout`, after which the server ends the idle session."""
    return min(RELEASE_TIMEOUT_SECONDS, timeout / 4)


async def reclaim_async(
    connection: AsyncConnection, error: BaseException, timeout: float, deadline: DeadlineFactory
) -> None:
    if connection.lock.locked():
        _release_frames(error)
        with deadline():
            await _close_streams(connection, timeout)
    until = monotonic() + _release_timeout(timeout)
    while not await _is_free_async(connection, CANCEL_INTERVAL_SECONDS):
        await _cancel_async(connection)
        if monotonic() >= until:
            await _sever_and_refuse_async(connection)
    if _is_busy(connection):
        with deadline():
            async with connection.lock:
                await _cancel_async(connection)
                while not await connection.wait(_drain(connection.pgconn)):
                    await _cancel_async(connection)


async def _close_streams(connection: AsyncConnection, timeout: float) -> None:
    """Wait until the event loop has closed the streams that the handler dropped.

    The loop closes each of them in a task, which reads the rows that the server has already sent.
    On a busy machine that takes seconds, and must not be mistaken for a task of the handler.
    """
    await asyncio.sleep(0)  # the loop creates these tasks on its next pass
    until = monotonic() + timeout + _release_timeout(timeout)
    while connection.lock.locked() and monotonic() < until and _is_closing_streams():
        await _cancel_async(connection)
        await _is_free_async(connection, CANCEL_INTERVAL_SECONDS)


def _is_closing_streams() -> bool:
    """Return whether a task of this loop closes an async generator."""
    coroutines = (task.get_coro() for task in asyncio.all_tasks())
    return any(type(coroutine).__name__ == GENERATOR_CLOSE_TYPE for coroutine in coroutines)


async def wait_until_free_async(connection: AsyncConnection, timeout: float) -> None:
    if not await _is_free_async(connection, timeout):
        await _sever_and_refuse_async(connection)


async def _is_free_async(connection: AsyncConnection, seconds: float) -> bool:
    if not connection.lock.locked():
        return True
    try:
        async with asyncio.timeout(seconds), connection.lock:
            return True
    except TimeoutError:
        return not connection.lock.locked()  # released in the very pass that timed out


async def _sever_and_refuse_async(connection: AsyncConnection) -> NoReturn:
    sever(connection)
    await _is_free_async(connection, RELEASE_TIMEOUT_SECONDS)
    raise ConnectionStillInUse


async def _cancel_async(connection: AsyncConnection) -> None:
    if _is_busy(connection):
        with suppress(psycopg.Error):
            await connection.cancel_safe(timeout=RELEASE_TIMEOUT_SECONDS)


def _is_busy(connection: Connection | AsyncConnection) -> bool:
    """Return whether a statement is under way."""
    return connection.info.transaction_status == TransactionStatus.ACTIVE


def _drain(pgconn: PGconn) -> PQGen[bool]:
    """Discard the results of a cancelled statement; False if no data arrives for a moment.

    A cancel request that overtakes its statement has no effect, and must be sent again.
    """
    if pgconn.pipeline_status != PipelineStatus.OFF:
        raise ConnectionStillInUse  # a pipeline ends only when its user leaves it
    while True:
        while pgconn.is_busy():
            if not (yield Wait.R):
                return False
            pgconn.consume_input()
        # Hundreds of thousands of rows of a stream may be under way: none is kept.
        result = pgconn.get_result()
        if result is None:
            return True
        if result.status == ExecStatus.COPY_IN:
            pgconn.put_copy_end(b"its handler has ended")
        elif result.status == ExecStatus.COPY_OUT and not (yield from _drain_copy(pgconn)):
            return False


def _drain_copy(pgconn: PGconn) -> PQGen[bool]:
    while (length := pgconn.get_copy_data(1)[0]) >= 0:
        if length:
            continue
        if not (yield Wait.R):
            return False
        pgconn.consume_input()
    return True
