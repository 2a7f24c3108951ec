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
# After this many failures in a row a service reports a problem, and stops working on its input.
PROBLEM_AFTER_FAILURES = 3


class Service:
    """Repeats `step` until stopped. A step that raises is logged and retried after a backoff; while
    the store is unavailable, repeated failures are not all logged.

    A step that fails several times in a row, and not because the store is unavailable, fails on
    what it works on: then `on_repeated_failure` is called, which stops that and returns a clause
    for the log: what the service does from now on.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], Awaitable[float]],
        *,
        on_repeated_failure: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self._step = step
        self._on_repeated_failure = on_repeated_failure
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()
        self._backoff = 0.0
        self._failures = Failures()
        self._outage = OutageLog(log, name)

    @property
    def problem(self) -> str | None:
        """Why the service achieves nothing; None while it works, or failed only a moment ago."""
        if self._failures.in_a_row < PROBLEM_AFTER_FAILURES:
            return None
        return f"{self.name} is failing: {self._failures.last}"

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
            self._failures.note_unavailable(error)
            return self._back_off()
        except Exception as error:  # noqa: BLE001 - logged, and retried after a backoff
            self._log_failure(error)
            self._failures.note_unexpected(error)
            if self._failures.unexpected_in_a_row >= PROBLEM_AFTER_FAILURES:
                self._stop_working_on_input()
            return self._back_off()
        if self._backoff:
            self._outage.recovered()
            self._backoff = 0.0
            self._failures = Failures()
        return pause

    def _log_failure(self, error: Exception) -> None:
        if self._failures.is_new(error):
            log.exception("%s failed and will be retried", self.name)
            self._outage.mark_failing()
        else:
            self._outage.failed(repr(error))

    def _stop_working_on_input(self) -> None:
        if self._on_repeated_failure is None:
            return
        self._failures.start_over()
        try:
            log.error("%s fails each time and %s", self.name, self._on_repeated_failure())
        except Exception:
            log.exception("%s could not stop working on what it fails on", self.name)

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


class Failures:
    """The failures of a service since it last worked."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self.last: object = None
        self.unexpected_in_a_row = 0

    def is_new(self, error: Exception) -> bool:
        return type(error) is not type(self.last) or str(error) != str(self.last)

    def note_unavailable(self, error: StoreUnavailable) -> None:
        self.in_a_row += 1
        self.last, self.unexpected_in_a_row = error, 0

    def note_unexpected(self, error: Exception) -> None:
        self.in_a_row += 1
        self.last = error
        self.unexpected_in_a_row += 1

    def start_over(self) -> None:
        """The service works on something else now: what fails next fails on that."""
        self.unexpected_in_a_row = 0
