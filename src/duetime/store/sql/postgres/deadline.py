"""Cuts a connection whose server does not answer in time."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from duetime.model.clock import monotonic


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


class Deadline(ABC):
    """While it is entered, a connection has so many seconds, from the last time that it was put
    off; then it is cut."""

    def __init__(
        self, connection: Any, seconds: float, passed: Callable[[], None] = lambda: None
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._passed = passed
        self._over = False
        # Once it is left, the connection is somebody else's.
        self._leaving = threading.Lock()

    def __enter__(self) -> None:
        self.put_off()
        self._wait(self._seconds)

    def __exit__(self, *_: object) -> None:
        with self._leaving:
            self._over = True
            self._timer.cancel()

    def put_off(self) -> None:
        """It counts from now."""
        self._until = monotonic() + self._seconds

    def _look(self) -> None:
        with self._leaving:
            left = self._until - monotonic()
            if self._over:
                return
            if left > 0:
                self._wait(left)
            else:
                self._passed()
                sever(self._connection)

    @abstractmethod
    def _wait(self, seconds: float) -> None:
        """Look again after that time, unless `_timer` is cancelled."""

    _timer: asyncio.TimerHandle | threading.Timer


class LoopDeadline(Deadline):
    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)


class ThreadDeadline(Deadline):
    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()
