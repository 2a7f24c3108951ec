"""Settlement of children level by level: a cancelled child may itself be a parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.actions.action import Added, AddedRecord, Record
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps

# Limits of one transaction, so that neither a parent with many children nor a long chain keeps it
# open for long. The next transaction settles the rest.
MAX_SETTLED = 500
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Settlement:
    """The children that were settled, and the parents whose children remain to be settled."""

    settled: Sequence[Record]
    rest: Sequence[UUID]


def parent_of(store: Store, child: UUID) -> Flow[Record | None]:
    """Return the parent of an action; None if it has none, or if the parent was pruned."""

    def steps() -> Steps[Record | None]:
        after = (yield from store.get(child, ANY).start()).after
        if after is None:
            return None
        try:
            return (yield from store.get(after, ANY).start())
        except ActionNotFound:
            return None

    return Flow(steps, Mode.read)


def settle_descendants(
    store: Store, parents: Sequence[UUID], run_traces: RunTraces = NO_TRACES
) -> Flow[Settlement]:
    """Settle the children of finished parents, and their descendants, up to the limits of one
    transaction."""

    def steps() -> Steps[Settlement]:
        settled: list[Record] = []
        rest = list(parents)
        for _ in range(MAX_DEPTH):
            room = MAX_SETTLED - len(settled)
            if not rest or not room:
                break
            children = yield from store.settle(rest, room, run_traces).start()
            settled += children
            more = [parent for child in children for parent in _next_parents(child)]
            rest = more if len(children) < room else [*rest, *more]
        return Settlement(settled, rest)

    return Flow(steps, Mode.pinned, resend=True)


def settle_children_of(store: Store, records: Sequence[Record]) -> Flow[Settlement]:
    """Settle the children of those of these actions that were cancelled."""
    cancelled = [record.id for record in records if record.state is State.cancelled]
    return settle_descendants(store, cancelled)


def _next_parents(child: Record) -> list[UUID]:
    """Return whose children to settle next: the child's own if it was cancelled, or those of the
    action that it now waits for."""
    if child.state is State.cancelled:
        return [child.id]
    return [child.after] if child.waits and child.after else []


def with_settled(added: Sequence[Added], settlement: Settlement) -> Sequence[Added]:
    """Return the added actions with the children that were settled at once, because their parent
    had already ended."""
    if not settlement.settled:
        return added
    settled = {child.id: child for child in settlement.settled}
    return [AddedRecord(settled.get(a.record.id, a.record), a.created) for a in added]
