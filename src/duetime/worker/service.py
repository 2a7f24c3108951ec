"""A loop that does one step, sleeps as long as the step said, and can be woken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from duetime.errors import StoreUnavailable
from duetime.store.outage_log import Outage

log = logging.getLogger("duetime.worker")

LONGEST_SLEEP = 3600.0
# What a step says that has nothing to wait for but a wake.
NO_HURRY = LONGEST_SLEEP
FIRST_BACKOFF = 0.1
LONGEST_BACKOFF = 5.0


class Service:
    """Repeats `step` until stopped. A step that raises is logged and tried again later; of a store
    that is away, not every try is."""

    def __init__(self, name: str, step: Callable[[], Awaitable[float]]) -> None:
        self.name = name
        self._step = step
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()
        self._backoff = 0.0
        self._outage = Outage(log, name)

    def wake(self) -> None:
        """Cut the sleep; woken during a step, it does not sleep at all."""
        self._woken.set()

    def stop(self) -> None:
        self._stopped.set()
        self._woken.set()

    async def run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            await self._sleep(await self._guarded())

    async def _guarded(self) -> float:
        try:
            pause = await self._step()
        except StoreUnavailable as error:
            self._outage.failed(error)
            return self._back_off()
        except Exception:
            log.exception("%s failed and goes on", self.name)
            self._outage.begun()
            return self._back_off()
        self._outage.over()
        self._backoff = 0.0
        return pause

    def _back_off(self) -> float:
        self._backoff = min(max(self._backoff * 2, FIRST_BACKOFF), LONGEST_BACKOFF)
        return self._backoff

    async def _sleep(self, pause: float) -> None:
        """Backoff is slept out: a wake must not turn an outage into a busy loop."""
        if pause <= 0:
            await asyncio.sleep(0)
            return
        cut = self._stopped if self._backoff else self._woken
        try:
            async with asyncio.timeout(min(pause, LONGEST_SLEEP)):
                await cut.wait()
        except TimeoutError:
            return
