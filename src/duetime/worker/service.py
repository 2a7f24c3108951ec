"""A loop that performs one step, sleeps for as long as the step returned, and can be woken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from duetime.errors import StoreUnavailable
from duetime.logs import get_log
from duetime.store.outage_log import OutageLog

log = get_log("duetime.worker")

MAX_SLEEP_SECONDS = 3600.0
# Returned by a step that only a wake should start again.
UNTIL_WOKEN = MAX_SLEEP_SECONDS
FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 5.0


class Service:
    """Repeats `step` until stopped. A step that raises is logged and retried after a backoff; while
    the store is unavailable, repeated failures are not all logged."""

    def __init__(self, name: str, step: Callable[[], Awaitable[float]]) -> None:
        self.name = name
        self._step = step
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()
        self._backoff = 0.0
        self._outage = OutageLog(log, name)

    def wake(self) -> None:
        """Cut the sleep short; a wake during a step skips the sleep that follows it."""
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
            log.exception("%s failed and will be retried", self.name)
            self._outage.mark_failing()
            return self._back_off()
        if self._backoff:
            self._outage.recovered()
            self._backoff = 0.0
        return pause

    def _back_off(self) -> float:
        self._backoff = min(max(self._backoff * 2, FIRST_BACKOFF_SECONDS), MAX_BACKOFF_SECONDS)
        return self._backoff

    async def _sleep(self, pause: float) -> None:
        """Sleep for `pause` seconds or until woken. A wake does not cut a backoff short: it must
        not turn an outage into a busy loop."""
        if pause <= 0:
            await asyncio.sleep(0)
            return
        cut = self._stopped if self._backoff else self._woken
        try:
            async with asyncio.timeout(min(pause, MAX_SLEEP_SECONDS)):
                await cut.wait()
        except TimeoutError:
            return
