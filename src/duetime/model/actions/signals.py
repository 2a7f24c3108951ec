"""Signals that a handler returns or raises instead of a result: when to run again, how to end."""

from __future__ import annotations

from datetime import timedelta

from duetime.errors import InvalidArgument
from duetime.model.validation import seconds


class Snooze(Exception):
    """Return or raise to run the action again after `delay`; this attempt does not count."""

    def __init__(self, delay: float | timedelta) -> None:
        self.delay = seconds("delay", delay)
        super().__init__(f"snoozed for {self.delay:g} s")


class RetryAfter(Exception):
    """Return or raise to try the action again after `delay`; this attempt counts, and the action
    fails if it was the last one that `Retry` allows."""

    def __init__(self, delay: float | timedelta, reason: str | None = None) -> None:
        self.delay = seconds("delay", delay)
        super().__init__(_text(reason) or f"to be tried again after {self.delay:g} s")


class Cancel(Exception):
    """Return or raise to cancel the action."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "cancelled by its handler")


class Fail(Exception):
    """Return or raise to fail the action at once, without further retries."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class Release(Exception):
    """Return or raise to stop on request, when `ctx.stop_reason` is set: a run that its worker's
    shutdown ended starts again at once, elsewhere, and this attempt does not count."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(_text(reason) or "released by its handler")


def _text(reason: str | None) -> str | None:
    if reason is not None and not isinstance(reason, str):
        raise InvalidArgument("reason", reason, "give a string, such as str(error)")
    return reason


Signal = Snooze | RetryAfter | Cancel | Fail | Release
SIGNALS = (Snooze, RetryAfter, Cancel, Fail, Release)
