"""What a log is told while a store is away: not every try."""

from __future__ import annotations

import logging
from collections.abc import Callable

from duetime.model.clock import monotonic
from duetime.model.validation import amount

# Seconds between two lines about the same outage.
INTERVAL = 30.0


class Outage:
    """One part's failures, as long as they last: the first is told, then one now and then, and
    the end."""

    def __init__(
        self,
        log: logging.Logger,
        failing: str,
        well: str | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """`failing` and `well` say what it is that fails, and what is so when it is over."""
        self._log = log
        self._failing = failing
        self._well = well or f"{failing} works again"
        self._now = now
        self._began: float | None = None
        self._told = 0.0

    def failed(self, error: object) -> None:
        now = self._now()
        if self._began is None:
            self._log.warning("%s: %s", self._failing, error)
            self.begun()
        elif now - self._told >= INTERVAL:
            self._log.warning("%s, for %s now: %s", self._failing, amount(now - self._began), error)
            self._told = now

    def begun(self) -> None:
        """It fails, and was told of in another way."""
        if self._began is None:
            self._began = self._told = self._now()

    def over(self) -> None:
        if self._began is not None:
            self._log.info("%s, after %s", self._well, amount(self._now() - self._began))
            self._began = None
