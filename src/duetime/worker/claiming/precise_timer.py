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
    try:
        return FineAlarm(ring)
    except (ImportError, AttributeError, OSError, NotImplementedError):
        # Python was built without ctypes, its library has no timers, the system has none left, or
        # the loop waits for nothing but its own.
        return LoopAlarm(ring)


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

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._libc = _libc()
        self._timer = _timer(self._libc)
        self._loop = asyncio.get_running_loop()
        try:
            self._loop.add_reader(self._timer, self._rang)
        except BaseException:
            self._timer.close()
            raise

    def set(self, seconds: float) -> None:
        if not self._timer.closed:
            # No time at all would stop it.
            after = divmod(max(int(seconds * NANOS), 1), NANOS)
            self._libc.timerfd_settime(self._timer.fileno(), 0, pack("4l", 0, 0, *after), None)

    def _rang(self) -> None:
        self._timer.read(8)  # so that the loop is told once
        self._ring()

    def close(self) -> None:
        if not self._timer.closed:
            self._loop.remove_reader(self._timer)
            self._timer.close()


def _libc() -> Any:
    """Python has functions of its own for these timers, but only since 3.13."""
    if sys.platform != "linux" or calcsize("l") != 8:
        raise NotImplementedError("a timer's times are four numbers of 8 bytes, on Linux")
    import ctypes

    return ctypes.CDLL(None)


def _timer(libc: Any) -> FileIO:
    descriptor = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError("the system has no timer for us")
    return FileIO(descriptor)
