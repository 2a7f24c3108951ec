"""The states of an action, and the outcomes of its runs."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    scheduled = "scheduled"
    running = "running"
    succeeded = "succeeded"
    failed = "failed"
    cancelled = "cancelled"

    @property
    def finished(self) -> bool:
        return self in FINISHED


FINISHED = frozenset({State.succeeded, State.failed, State.cancelled})


class Outcome(StrEnum):
    """How a run ended."""

    succeeded = "succeeded"
    failed = "failed"
    retried = "retried"
    snoozed = "snoozed"
    cancelled = "cancelled"
    skipped = "skipped"
    released = "released"
    lost = "lost"
