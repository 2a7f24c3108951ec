"""A handler's own time, where it begins in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from duetime.worker.deadlines import Deadline


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
