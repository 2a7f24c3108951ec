"""What a handler may wish instead of returning a result: to snooze, to be cancelled, to fail."""

from __future__ import annotations

from datetime import timedelta

from duetime.model.validation import seconds


class Snooze(Exception):
    """Return or raise it: run me again after `delay`, this attempt does not count."""

    def __init__(self, delay: float | timedelta) -> None:
        self.delay = seconds("delay", delay)
        super().__init__(f"snoozed for {self.delay:g} s")


class Cancel(Exception):
    """Return or raise it: this action is not wanted any more."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "cancelled by its handler")


class Fail(Exception):
    """Return or raise it: failed for good, retries would not help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


WISHES = (Snooze, Cancel, Fail)
