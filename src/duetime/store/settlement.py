"""Settling children level by level: one that is cancelled may be a parent itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.actions.action import Added, Found, Record
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps

# So much is settled in one transaction at most: neither many children of one parent nor a long
# chain may hold it open for long. The rest is done by the next one.
MOST = 500
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Cascade:
    """The children that were settled, and the parents whose children are still to be settled."""

    settled: Sequence[Record]
    rest: Sequence[UUID]


def parent_of(store: Store, child: UUID) -> Flow[Record | None]:
    """The action that this one was scheduled after, if it was, and if it is still stored."""

    def steps() -> Steps[Record | None]:
        after = (yield from store.get(child, ANY).start()).after
        if after is None:
            return None
        try:
            return (yield from store.get(after, ANY).start())
        except ActionNotFound:
            return None

    return Flow(steps, Mode.read)


def cascade(store: Store, parents: Sequence[UUID]) -> Flow[Cascade]:
    """Settle the children of parents that have ended, and theirs, as far as one transaction
    should go."""

    def steps() -> Steps[Cascade]:
        settled: list[Record] = []
        rest = list(parents)
        for _ in range(DEEPEST):
            room = MOST - len(settled)
            if not rest or not room:
                break
            found = yield from store.settle(rest, room).start()
            settled += found
            more = [one for child in found for one in _still(child)]
            rest = more if len(found) < room else [*rest, *more]
        return Cascade(settled, rest)

    return Flow(steps, Mode.pinned, resend=True)


def _still(child: Record) -> list[UUID]:
    """Whose children are to be settled next: its own, or those of the one that it waits for."""
    if child.state is State.cancelled:
        return [child.id]
    return [child.after] if child.waits and child.after else []


def as_settled(added: Sequence[Added], done: Cascade) -> list[Added]:
    """As they are now: a child whose parent had ended before waits no longer."""
    settled = {child.id: child for child in done.settled}
    return [Found(settled.get(one.record.id, one.record), one.created) for one in added]
