"""Listeners of this process, each on its own event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from duetime.store.base import Listener, OnWake
from duetime.store.flow import Wake


class Listeners:
    """Notifies every listener of a commit, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[LocalListener] = []

    @asynccontextmanager
    async def listen(self, on_wake: OnWake) -> AsyncIterator[Listener]:
        listener = LocalListener(on_wake)
        with self._lock:
            self._all = [*self._all, listener]
        try:
            yield listener
        finally:
            with self._lock:
                self._all = [other for other in self._all if other is not listener]

    def notify(self, wakes: Sequence[Wake]) -> None:
        if wakes:
            for listener in self._all:
                listener.notify(wakes)


class LocalListener:
    """A listener for wakes of its own process, which cannot be missed."""

    alive = True
    problem = None
    refused_wakes = 0

    def __init__(self, on_wake: OnWake) -> None:
        self._on_wake = on_wake
        self._loop = asyncio.get_running_loop()

    def notify(self, wakes: Sequence[Wake]) -> None:
        # The loop may have been closed while its listener was still open.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_wake, wakes)
