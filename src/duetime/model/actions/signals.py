"""Signals that a handler returns or raises instead of a result: snooze, cancel, fail."""

from __future__ import annotations

from datetime import timedelta

from duetime.model.validation import seconds


class Snooze(Exception):
    """Return or raise to run the action again after `delay`; this attempt does not count."""

    def __init__(self, delay: float | timedelta) -> None:
        self.delay = seconds("delay", delay)
        super().__init__(f"snoozed for {self.delay:g} s")


class Cancel(Exception):
    """Return or raise to cancel the action."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "cancelled by its handler")


class Fail(Exception):
    """Return or raise to fail the action at once, without further retries."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


SIGNALS = (Snooze, Cancel, Fail)
