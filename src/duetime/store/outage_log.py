"""Throttled log lines during an outage of a store."""

from __future__ import annotations

import logging
from collections.abc import Callable

from duetime.logs import Log
from duetime.model.clock import monotonic
from duetime.model.validation import amount

# The pause between two lines about the same outage.
LOG_INTERVAL_SECONDS = 30.0


class OutageLog:
    """Logs the first failure of an outage, then one line per interval, and the recovery."""

    def __init__(
        self,
        log: Log,
        failing: str,
        working: str | None = None,
        now: Callable[[], float] = monotonic,
        level: int = logging.WARNING,
    ) -> None:
        """`failing` names the failure in log lines; `working` is the line after the recovery."""
        self._log = log
        self._level = level
        self._failing = failing
        self._working = working or f"{failing} works again"
        self._now = now
        self._began: float | None = None
        self._logged_at = 0.0

    def failed(self, error: object, *, exc_info: Exception | None = None) -> None:
        """Log a failure; `exc_info` if its traceback belongs into the first line."""
        now = self._now()
        if self._began is None:
            self._log.log(self._level, "%s: %s", self._failing, error, exc_info=exc_info)
            self.mark_failing()
        elif now - self._logged_at >= LOG_INTERVAL_SECONDS:
            lasting = amount(now - self._began)
            self._log.log(self._level, "%s, for %s now: %s", self._failing, lasting, error)
            self._logged_at = now

    def mark_failing(self) -> None:
        """Start the outage without a log line: the caller has logged the failure."""
        if self._began is None:
            self._began = self._logged_at = self._now()

    def recovered(self) -> None:
        if self._began is not None:
            self._log.info("%s, after %s", self._working, amount(self._now() - self._began))
            self._began = None
