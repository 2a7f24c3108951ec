"""Chains: how the end of a parent settles the children that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.state_changes import to_cancelled
from duetime.model.clock import nearest_micros
from duetime.model.state import FINISHED, State
from duetime.model.tenant import SYSTEM
from duetime.model.trace import with_parent_trace

# How a parent must end for a child to run. `finished` means any end, cancelled included.
On = Literal["succeeded", "failed", "finished"]

_MET_BY: Mapping[str, frozenset[State]] = {
    "succeeded": frozenset({State.succeeded}),
    "failed": frozenset({State.failed}),
    "finished": FINISHED,
}
CYCLE_REMEDY = "it waits for the action to be replaced, so neither would ever run"


# The traces of the last runs of finished parents, by their ids.
RunTraces = Mapping[UUID, str]
NO_TRACES: RunTraces = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ParentEnd:
    """How and when a parent ended. `waited_for` is the action that it was itself waiting for;
    `trace` is the trace of its last run, if the worker that settles its children knows it."""

    state: State
    finished_at: int
    waited_for: UUID | None = None
    trace: str | None = None


def settle_child(child: Record, end: ParentEnd | None, now: int) -> Record:
    """Return a waiting child as it is after its parent's end: due, or cancelled with a reason.

    `end` is None if the parent has been deleted. An occurrence queued behind another occurrence
    that ended while still waiting takes over that occurrence's place.
    """
    if end is not None and end.waited_for is not None and child.job is not None:
        return replace(child, after=end.waited_for)
    if end is not None and end.state in _MET_BY[child.after_on or "succeeded"]:
        trace = with_parent_trace(child.trace, end.trace)
        return replace(child, due_at=_due(child, end.finished_at), trace=trace)
    return replace(to_cancelled(child, SYSTEM, now), error=_reason(child, end))


def parent_end(parent: Record, trace: str | None) -> ParentEnd:
    waited_for = parent.after if parent.due_at is None else None
    return ParentEnd(parent.state, parent.finished_at or 0, waited_for, trace)


def _due(child: Record, finished_at: int) -> int:
    if child.after_at is not None:
        return max(child.after_at, finished_at)
    # A damaged delay must not lead beyond what stores can hold.
    return nearest_micros(finished_at + (child.after_delay or 0))


def _reason(child: Record, end: ParentEnd | None) -> str:
    if end is None:
        return f"its parent {child.after} is gone: it was pruned while this action waited for it"
    wanted = child.after_on or "succeeded"
    return f"its parent {child.after} is {end.state.value}, and this action needs it {wanted}"


def would_wait_for_itself(
    action_id: UUID, parent: UUID, waits_for: Callable[[UUID], UUID | None]
) -> bool:
    """Return whether `parent` waits, directly or through others, for the action that is to wait
    for it. Such a cycle would never run."""
    seen: set[UUID] = set()
    ancestor: UUID | None = parent
    while ancestor is not None and ancestor not in seen:
        if ancestor == action_id:
            return True
        seen.add(ancestor)
        ancestor = waits_for(ancestor)
    return False
