"""Chains: what the end of a parent means for the children that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.state_changes import cancelled
from duetime.model.state import FINISHED, State
from duetime.model.tenant import SYSTEM

# How a parent must end for a child to run. `finished` is any end, a cancelled parent's too.
On = Literal["succeeded", "failed", "finished"]

_MET_BY: Mapping[str, frozenset[State]] = {
    "succeeded": frozenset({State.succeeded}),
    "failed": frozenset({State.failed}),
    "finished": FINISHED,
}
CIRCLE = "that one waits for the action to be replaced: neither would ever run"


@dataclass(frozen=True, slots=True)
class End:
    """How and when a parent ended. `waited_for` is what it still waited for itself."""

    state: State
    finished_at: int
    waited_for: UUID | None = None


def settled(child: Record, end: End | None, now: int) -> Record:
    """A waiting child after its parent's end: due, or cancelled with the reason. `end` is None
    if nothing is known of the parent any more.

    An occurrence waits for its turn: one before it that never had its own leaves it its place.
    """
    if end is not None and end.waited_for is not None and child.job is not None:
        return replace(child, after=end.waited_for)
    if end is not None and end.state in _MET_BY[child.after_on or "succeeded"]:
        return replace(child, due_at=_due(child, end.finished_at))
    return replace(cancelled(child, SYSTEM, now), error=_reason(child, end))


def end_of(parent: Record) -> End:
    waited_for = parent.after if parent.due_at is None else None
    return End(parent.state, parent.finished_at or 0, waited_for)


def _due(child: Record, ended_at: int) -> int:
    if child.after_at is not None:
        return max(child.after_at, ended_at)
    return ended_at + (child.after_delay or 0)


def _reason(child: Record, end: End | None) -> str:
    if end is None:
        return f"its parent {child.after} is gone: it was pruned while this action waited for it"
    wanted = child.after_on or "succeeded"
    return f"its parent {child.after} is {end.state.value}, and this action needs it {wanted}"


def would_wait_for_itself(
    action_id: UUID, parent: UUID, waits_for: Callable[[UUID], UUID | None]
) -> bool:
    """Whether `parent`, directly or through others, waits for the action that is to wait for
    it: then none of them would ever run."""
    seen: set[UUID] = set()
    above: UUID | None = parent
    while above is not None and above not in seen:
        if above == action_id:
            return True
        seen.add(above)
        above = waits_for(above)
    return False
