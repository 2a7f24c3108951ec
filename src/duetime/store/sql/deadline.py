"""Cuts a connection whose server does not answer in time."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


def sever(connection: Any) -> None:
    """End it under the driver's hands: whoever waits for it is told at once that it broke.

    To ask the server to cancel would mean to wait for the very server that does not answer.
    """
    if hasattr(connection, "terminate"):  # asyncpg hides its socket, and does it by itself
        connection.terminate()
        return
    # Whichever the driver is: it only tells that the connection is no more.
    with suppress(Exception), _wire(connection) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def _wire(connection: Any) -> socket.socket:
    """Its socket under a number of our own: libpq goes on to close the other."""
    return socket.socket(fileno=os.dup(connection.fileno()))


@contextmanager
def loop_deadline(
    connection: Any, seconds: float, passed: Callable[[], None] = lambda: None
) -> Iterator[None]:
    def cut() -> None:
        passed()
        sever(connection)

    timer = asyncio.get_running_loop().call_later(seconds, cut)
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def thread_deadline(
    connection: Any, seconds: float, passed: Callable[[], None] = lambda: None
) -> Iterator[None]:
    def cut() -> None:
        passed()
        sever(connection)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
