"""The context of a running handler: what it may read, and what it may ask for."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from duetime.model.actions.action import Action
from duetime.model.actions.stop import (
    StopReason,
    StopRequest,
    check_stop_reason,
    strongest_request,
)

# The heartbeat's thread and the event loop may ask at the same time. One lock for all runs: few are
# ever asked.
_asking = threading.Lock()


@dataclass(slots=True)
class Stop:
    """What a handler reads to learn that it should stop, and why."""

    request: StopRequest | None = None

    @property
    def reason(self) -> StopReason | None:
        return None if self.request is None else self.request.reason

    def ask(self, reason: StopReason, by: str | None = None) -> None:
        """Ask the handler to stop. Of several reasons the strongest counts."""
        request = StopRequest(check_stop_reason(reason), by)
        with _asking:
            self.request = strongest_request(self.request, request)


async def _nowhere(value: object) -> None:
    """Discard the progress of a handler that a test calls directly."""


def _nowhere_blocking(value: object) -> None:
    """Discard the progress of a sync handler that a test calls directly."""


async def _no_parent() -> Action | None:
    """Return no parent, for a handler that a test calls directly."""
    return None


def _no_parent_blocking() -> Action | None:
    """Return no parent, for a sync handler that a test calls directly."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The run that a handler belongs to. Tests may create one directly."""

    action_id: UUID
    kind: str = ""
    attempt: int = 1
    due_at: datetime | None = None
    tenant: str | None = None
    by: str = "system"
    correlation_id: str | None = None
    deadline: datetime | None = None
    job: str | None = None
    tick: datetime | None = None
    triggered_by: str | None = None
    stop: Stop = field(default_factory=Stop, repr=False)
    note: Callable[[object], Awaitable[None]] = field(default=_nowhere, repr=False)
    note_blocking: Callable[[object], None] = field(default=_nowhere_blocking, repr=False)
    ask_parent: Callable[[], Awaitable[Action | None]] = field(default=_no_parent, repr=False)
    ask_parent_blocking: Callable[[], Action | None] = field(
        default=_no_parent_blocking, repr=False
    )

    @property
    def idempotency_key(self) -> str:
        """A key that is the same for every attempt of this action, and unique to it."""
        return str(self.action_id)

    @property
    def cancelled(self) -> bool:
        """Whether this run should stop soon, for whatever reason."""
        return self.stop.request is not None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why this run should stop: `cancel(running=True)`, its `timeout`, a `shutdown` of its
        worker, or a lease that it `lost`; None while it need not."""
        return self.stop.reason

    async def progress(self, value: object) -> None:
        """Store the progress of this run, readable as the action's `progress`."""
        await self.note(value)

    def sync_progress(self, value: object) -> None:
        """Store the progress of this run from a sync handler, which cannot await."""
        self.note_blocking(value)

    async def parent(self) -> Action | None:
        """Return the action that this one was scheduled `after`, with its result; None if there
        is none, or it was pruned."""
        return await self.ask_parent()

    def sync_parent(self) -> Action | None:
        """Return the parent from a sync handler, which cannot await."""
        return self.ask_parent_blocking()
