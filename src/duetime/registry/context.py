"""What a running handler may know and ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from duetime.model.actions.action import Action


@dataclass(slots=True)
class Stop:
    """Asks a handler to stop: set by cancel(running=True), timeout, lost lease, shutdown."""

    asked: bool = False
    by: str | None = None


async def _nowhere(value: object) -> None:
    """Progress of a handler that a test calls by hand."""


def _nowhere_blocking(value: object) -> None:
    """The same for a sync handler."""


async def _no_parent() -> Action | None:
    """The parent of a handler that a test calls by hand."""
    return None


def _no_parent_blocking() -> Action | None:
    """The same for a sync handler."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The run a handler belongs to. Tests may build one by hand."""

    action_id: UUID
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
        """The same for every attempt of this action, and for no other action."""
        return str(self.action_id)

    @property
    def cancelled(self) -> bool:
        """Whether this run should come to an end soon."""
        return self.stop.asked

    async def progress(self, value: object) -> None:
        """Keep how far this run is, readable as the action's `progress`."""
        await self.note(value)

    def sync_progress(self, value: object) -> None:
        """The same from a sync handler, which cannot await."""
        self.note_blocking(value)

    async def parent(self) -> Action | None:
        """The action that this one was scheduled `after`, with its result; None if there is
        none, or none any more."""
        return await self.ask_parent()

    def sync_parent(self) -> Action | None:
        """The same from a sync handler, which cannot await."""
        return self.ask_parent_blocking()
