"""Timeouts of handlers: one timer for all runs, and the timeout of a handler in a thread.

Nearly every run finishes long before its timeout. One timer per run took half as long as everything
else that a worker does for a run.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from duetime.registry.context import Stop

# Event loops count milliseconds, so their timers may be early by one.
TIMER_TOLERANCE_SECONDS = 0.001


class RunDeadline:
    """The deadline of one run. When it expires the run is asked to stop and, if it has a task to
    interrupt, cancelled."""

    __slots__ = ("_interrupted", "_siblings", "_stop", "_task", "at")

    def __init__(
        self,
        at: float,
        stop: Stop,
        task: asyncio.Task[Any] | None,
        siblings: dict[RunDeadline, None],
    ) -> None:
        self.at = at
        self._stop = stop
        self._task = task
        self._siblings = siblings
        self._interrupted = False
        siblings[self] = None

    def finish(self) -> bool:
        """End the deadline; return whether the run was cancelled by it and for no other reason."""
        self._siblings.pop(self, None)
        interrupted, self._interrupted = self._interrupted, False
        return interrupted and self._task is not None and self._task.uncancel() == 0

    def expire(self) -> None:
        """Request the stop before cancelling: a handler's cleanup may read `ctx.cancelled`."""
        del self._siblings[self]
        self._stop.ask("timeout")
        if self._task is not None:
            self._interrupted = self._task.cancel()


class RunDeadlines:
    """All deadlines of unfinished runs. Those of equal length expire in the order they started."""

    def __init__(self) -> None:
        self._by_length: dict[float, dict[RunDeadline, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next = math.inf

    def start(self, stop: Stop, length: float, *, interrupts: bool) -> RunDeadline:
        """Start a deadline for the current task."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop) if interrupts else None
        siblings = self._by_length.get(length)
        if siblings is None:
            siblings = self._by_length[length] = {}
        deadline = RunDeadline(loop.time() + length, stop, task, siblings)
        if deadline.at < self._next:
            self._arm(loop, deadline.at)
        return deadline

    def _arm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = loop.call_at(at, self._expire_due, loop)

    def _expire_due(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._next = None, math.inf
        over = loop.time() + TIMER_TOLERANCE_SECONDS
        try:
            for siblings in self._by_length.values():
                while siblings and (first := next(iter(siblings))).at <= over:
                    first.expire()
        finally:
            # A handler's awaitable may raise from cancel(); the remaining deadlines must still be
            # armed.
            left = [next(iter(siblings)).at for siblings in self._by_length.values() if siblings]
            if left:
                self._arm(loop, min(left))


class ThreadTimeout:
    """The timeout of a handler that runs in a thread. `start` runs on the loop and returns the
    deadline."""

    def __init__(self, start: Callable[[], RunDeadline | None]) -> None:
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._deadline: RunDeadline | None = None

    async def start_then(self, call: Awaitable[Any]) -> Any:
        """In the thread: start the deadline, then await `call`. Time before this is not the
        handler's."""
        with suppress(RuntimeError):  # the loop is closed: no deadline is needed
            self._loop.call_soon_threadsafe(self._begin)
        return await call

    async def wait(self, call: Awaitable[Any]) -> Any:
        """On the loop: wait for the thread."""
        try:
            return await call
        finally:
            if self._deadline is not None:
                self._deadline.finish()

    def _begin(self) -> None:
        self._deadline = self._start()
