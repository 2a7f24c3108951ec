"""An action as tables of pages show it: without its data and its error, and what may be done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from duetime.model.actions.action import Action
from duetime.model.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """What a row says of an action. Readers of one scope share it."""

    id: UUID
    kind: str
    state: State
    due_at: datetime | None
    finished_at: datetime | None
    created_at: datetime
    attempt: int
    queue: str
    label: str | None

    @property
    def cancels(self) -> bool:
        return not self.state.finished

    @property
    def reschedules(self) -> bool:
        return self.state is State.scheduled

    @property
    def retries(self) -> bool:
        return self.state is State.failed

    @property
    def repeats(self) -> bool:
        return self.state.finished

    def late(self, now: datetime) -> bool:
        """Return whether it is due and has not started."""
        return self.state is State.scheduled and self.due_at is not None and self.due_at < now


def row_of(action: Action) -> ActionRow:
    return ActionRow(
        id=action.id,
        kind=action.kind,
        state=action.state,
        due_at=action.due_at,
        finished_at=action.finished_at,
        created_at=action.created_at,
        attempt=action.attempt,
        queue=action.queue,
        label=action.key or action.correlation_id or action.job,
    )


def rows_of(actions: Iterable[Action]) -> list[ActionRow]:
    return [row_of(action) for action in actions]
