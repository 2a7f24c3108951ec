"""A timer with sub-millisecond precision for the next start of an action.

Event loops count whole milliseconds, several times as long as starting an action takes. Linux
offers finer timers (timerfd), which a loop can wait for like a socket.
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

NANOS_PER_SECOND = 1_000_000_000


class PreciseTimer(Protocol):
    """Calls its callback once, `seconds` after the last `set`. If it is set again just as it fires,
    the callback may be called once for nothing."""

    def set(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def precise_timer(ring: Callable[[], None]) -> PreciseTimer:
    """Return the most precise timer available for the running loop."""
    try:
        return TimerfdTimer(ring)
    except (ImportError, AttributeError, OSError, NotImplementedError):
        # Python was built without ctypes, libc has no timerfd, the system has no timers left, or
        # the loop cannot watch file descriptors.
        return LoopTimer(ring)


class LoopTimer:
    """A timer of the event loop."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._callback = ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._callback)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class TimerfdTimer:
    """A Linux timerfd."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._callback = ring
        self._libc = _libc()
        self._timer = _open_timerfd(self._libc)
        self._loop = asyncio.get_running_loop()
        try:
            self._loop.add_reader(self._timer, self._on_readable)
        except BaseException:
            self._timer.close()
            raise

    def set(self, seconds: float) -> None:
        if not self._timer.closed:
            # Zero would disarm the timer.
            after = divmod(max(int(seconds * NANOS_PER_SECOND), 1), NANOS_PER_SECOND)
            self._libc.timerfd_settime(self._timer.fileno(), 0, pack("4l", 0, 0, *after), None)

    def _on_readable(self) -> None:
        self._timer.read(8)  # else the descriptor stays readable
        self._callback()

    def close(self) -> None:
        if not self._timer.closed:
            self._loop.remove_reader(self._timer)
            self._timer.close()


def _libc() -> Any:
    """Return the C library. Python has functions for timerfd only since 3.13."""
    if sys.platform != "linux" or calcsize("l") != 8:
        raise NotImplementedError("timerfd needs Linux with 8-byte longs")
    import ctypes

    return ctypes.CDLL(None)


def _open_timerfd(libc: Any) -> FileIO:
    descriptor = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError("timerfd_create failed")
    return FileIO(descriptor)
