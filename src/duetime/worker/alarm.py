"""An alarm for the next instant at which something is to start.

Event loops count whole milliseconds, several times as long as it takes to start an action. Linux
lends timers that count finer and that a loop waits for as it does for a socket.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from io import FileIO
from struct import calcsize, pack
from typing import Any, Protocol

NANOS = 1_000_000_000


class Alarm(Protocol):
    """Rings once, so many seconds after it was last set. Set anew in the moment in which it rings,
    it may ring in vain."""

    def set(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def alarm(ring: Callable[[], None]) -> Alarm:
    """The finest that can be had, for the loop that runs."""
    libc = _libc()
    timer = None if libc is None else _timer(libc)
    return LoopAlarm(ring) if timer is None else FineAlarm(ring, timer, libc)


class LoopAlarm:
    """By the loop's own time."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class FineAlarm:
    """By a timer of the system."""

    def __init__(self, ring: Callable[[], None], timer: FileIO, libc: Any) -> None:
        self._ring = ring
        self._timer = timer
        self._libc = libc
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(timer, self._rang)

    def set(self, seconds: float) -> None:
        # No time at all would stop it.
        after = divmod(max(int(seconds * NANOS), 1), NANOS)
        self._libc.timerfd_settime(self._timer.fileno(), 0, pack("4l", 0, 0, *after), None)

    def _rang(self) -> None:
        self._timer.read(8)  # so that the loop is told once
        self._ring()

    def close(self) -> None:
        self._loop.remove_reader(self._timer)
        self._timer.close()


def _timer(libc: Any) -> FileIO | None:
    """None where there is none left."""
    descriptor = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    return FileIO(descriptor) if descriptor >= 0 else None


def _libc() -> Any | None:
    """None where it has no such timers. Python has functions for them since 3.13."""
    if sys.platform != "linux" or calcsize("l") != 8:
        return None
    try:
        import ctypes
    except ImportError:  # this Python was built without
        return None
    return ctypes.CDLL(None)
