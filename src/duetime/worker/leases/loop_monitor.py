"""Notices a handler that keeps the event loop, and says which."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from duetime.model.actions.claim import Claim
from duetime.model.clock import monotonic

log = logging.getLogger("duetime.worker")

# Seconds between two looks; a loop that does not answer for so long is told of.
INTERVAL = 1.0

Task = asyncio.Task[Any]


class LoopGone(Exception):
    """The event loop of the handlers was closed."""


class LoopWatch:
    """Looked through by a thread: whoever keeps the loop keeps it from everything else, and most
    of all from noticing. Each kind is told of once; that is how its handler is written."""

    def __init__(self, run_by: Callable[[Task], Claim | None]) -> None:
        """`run_by` tells which claim a task runs, if any."""
        self._run_by = run_by
        self._loop = asyncio.get_running_loop()
        self._answered = True
        self._asked = 0.0
        self._told: set[str] = set()

    def look(self) -> None:
        """LoopGone if there is nothing to look at any more."""
        since = monotonic() - self._asked
        if since < INTERVAL:
            return
        if self._answered:
            self._ask()
        else:
            self._tell(since)

    def _ask(self) -> None:
        self._answered, self._asked = False, monotonic()
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError as error:
            raise LoopGone from error

    def _answer(self) -> None:
        self._answered = True

    def _tell(self, seconds: float) -> None:
        task = asyncio.current_task(self._loop)
        claim = None if task is None else self._run_by(task)
        # A loop that nobody keeps has been waiting for the processor itself.
        if claim is None or claim.kind in self._told:
            return
        self._told.add(claim.kind)
        log.warning(
            "action %s of kind %s has kept the event loop for %.1f s, and nothing else of this "
            "worker can run meanwhile: write its handler with def instead of async def, so that "
            "it runs in a thread, or hand what blocks to asyncio.to_thread",
            claim.id,
            claim.kind,
            seconds,
        )
