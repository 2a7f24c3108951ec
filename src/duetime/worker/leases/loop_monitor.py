"""Detects handlers that block the event loop, and names them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from duetime.logs import get_log
from duetime.model.actions.claim import Claim
from duetime.model.clock import monotonic

log = get_log("duetime.worker")

# Seconds between two checks; a loop that does not answer for this long is reported.
CHECK_INTERVAL_SECONDS = 1.0

Task = asyncio.Task[Any]


class LoopClosed(Exception):
    """The event loop of the handlers was closed."""


class LoopMonitor:
    """Checks the event loop from another thread, since a blocked loop cannot notice that it is
    blocked. Each kind is reported once: blocking is a property of its handler."""

    def __init__(self, claim_of: Callable[[Task], Claim | None]) -> None:
        """`claim_of` returns the claim that a task runs, if any."""
        self._claim_of = claim_of
        self._loop = asyncio.get_running_loop()
        self._answered = True
        self._pinged_at = 0.0
        self._reported: set[str] = set()

    def check(self) -> None:
        """Ping the loop, or report an unanswered ping. Raises LoopClosed if the loop was closed."""
        since = monotonic() - self._pinged_at
        if since < CHECK_INTERVAL_SECONDS:
            return
        if self._answered:
            self._ping()
        else:
            self._report(since)

    def _ping(self) -> None:
        self._answered, self._pinged_at = False, monotonic()
        try:
            self._loop.call_soon_threadsafe(self._pong)
        except RuntimeError as error:
            raise LoopClosed from error

    def _pong(self) -> None:
        self._answered = True

    def _report(self, seconds: float) -> None:
        task = asyncio.current_task(self._loop)
        claim = None if task is None else self._claim_of(task)
        # Without a handler on it, the loop was waiting for a processor.
        if claim is None or claim.kind in self._reported:
            return
        self._reported.add(claim.kind)
        log.warning(
            "action %s of kind %s has kept the event loop for %.1f s, and nothing else of this "
            "worker can run meanwhile: write its handler with def instead of async def, so that "
            "it runs in a thread, or hand what blocks to asyncio.to_thread",
            claim.id,
            claim.kind,
            seconds,
        )
