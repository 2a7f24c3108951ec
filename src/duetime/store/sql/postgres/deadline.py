"""Deadlines for connections: a connection whose server does not answer in time is severed."""

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
    """Shut the socket down below the driver, so that its waiting call fails at once.

    Asking the server to cancel would mean waiting for the server that does not answer.
    """
    if hasattr(connection, "terminate"):  # asyncpg hides its socket and has a method for this
        connection.terminate()
        return
    # Each driver raises its own error here, and only if the connection is already closed.
    with suppress(Exception), _duplicate_socket(connection) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def _duplicate_socket(connection: Any) -> socket.socket:
    """Return the connection's socket under a new descriptor: libpq closes its own later."""
    return socket.socket(fileno=os.dup(connection.fileno()))


class ConnectionDeadline(ABC):
    """Context manager that severs a connection `seconds` after entry or the last `extend`.

    `on_timeout` is called just before the connection is severed.
    """

    def __init__(
        self, connection: Any, seconds: float, on_timeout: Callable[[], None] = lambda: None
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._on_timeout = on_timeout
        self._left = False
        # After the block is left, the connection may belong to another call.
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.extend()
        self._schedule_check(self._seconds)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._left = True
            self._timer.cancel()

    def extend(self) -> None:
        """Restart the countdown."""
        self._expires_at = monotonic() + self._seconds

    def _check(self) -> None:
        with self._lock:
            remaining = self._expires_at - monotonic()
            if self._left:
                return
            if remaining > 0:
                self._schedule_check(remaining)
            else:
                self._on_timeout()
                sever(self._connection)

    @abstractmethod
    def _schedule_check(self, seconds: float) -> None:
        """Call `_check` after that time, unless `_timer` is cancelled."""

    _timer: asyncio.TimerHandle | threading.Timer


class LoopDeadline(ConnectionDeadline):
    def _schedule_check(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)


class ThreadDeadline(ConnectionDeadline):
    def _schedule_check(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._check)
        self._timer.daemon = True
        self._timer.start()
