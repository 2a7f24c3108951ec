"""When the time of handlers is over: one timer for all of them.

Nearly every run ends long before its time is over. A timer for each took half as long as all else
that a worker does for a run.

A handler's own time, where it begins in a thread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from duetime.registry.context import Stop

# Loops count in milliseconds, so their timers may be early by one.
EARLY = 0.001


class Deadline:
    """The end of one run's time. Then it is asked to stop and, if its task may be interrupted,
    interrupted."""

    __slots__ = ("_interrupted", "_others", "_stop", "_task", "at")

    def __init__(
        self,
        at: float,
        stop: Stop,
        task: asyncio.Task[Any] | None,
        others: dict[Deadline, None],
    ) -> None:
        self.at = at
        self._stop = stop
        self._task = task
        self._others = others
        self._interrupted = False
        others[self] = None

    def end(self) -> bool:
        """The run is over: was it interrupted because its time was, and for no other reason?"""
        self._others.pop(self, None)
        interrupted, self._interrupted = self._interrupted, False
        return interrupted and self._task is not None and self._task.uncancel() == 0

    def pass_(self) -> None:
        """Asked first: what a handler does when interrupted may look at `ctx.cancelled`."""
        del self._others[self]
        self._stop.asked = True
        if self._task is not None:
            self._interrupted = self._task.cancel()


class Deadlines:
    """All that have begun and not ended. Those of one length pass in the order they began."""

    def __init__(self) -> None:
        self._by_length: dict[float, dict[Deadline, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next = math.inf

    def begin(self, stop: Stop, length: float, *, interrupts: bool) -> Deadline:
        """The time of the running task begins."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop) if interrupts else None
        others = self._by_length.get(length)
        if others is None:
            others = self._by_length[length] = {}
        deadline = Deadline(loop.time() + length, stop, task, others)
        if deadline.at < self._next:
            self._arm(loop, deadline.at)
        return deadline

    def _arm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = loop.call_at(at, self._pass, loop)

    def _pass(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._next = None, math.inf
        over = loop.time() + EARLY
        try:
            for others in self._by_length.values():
                while others and (first := next(iter(others))).at <= over:
                    first.pass_()
        finally:
            # Whatever a handler waits for may refuse to be cancelled: the next are not to blame.
            left = [next(iter(others)).at for others in self._by_length.values() if others]
            if left:
                self._arm(loop, min(left))


class Watch:
    """`start` begins to measure, on the loop, and returns what ends it."""

    def __init__(self, start: Callable[[], Deadline | None]) -> None:
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._deadline: Deadline | None = None

    async def over(self, call: Awaitable[Any]) -> Any:
        """In the thread: what comes before this is not the handler's doing."""
        with suppress(RuntimeError):  # the loop is closed: nobody is left to measure
            self._loop.call_soon_threadsafe(self._begin)
        return await call

    async def until(self, call: Awaitable[Any]) -> Any:
        """On the loop: wait for the thread."""
        try:
            return await call
        finally:
            if self._deadline is not None:
                self._deadline.end()

    def _begin(self) -> None:
        self._deadline = self._start()
