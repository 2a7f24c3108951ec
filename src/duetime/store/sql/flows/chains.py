"""Chaining, for every SQL store: what a child needs when it is added, and its settlement."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound, InvalidArgument
from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.chain import CIRCLE, End, settled
from duetime.model.actions.state_changes import home_of
from duetime.model.state import State
from duetime.model.tenant import SYSTEM
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.wakes import wake
from duetime.store.sql.statements.bulk_rows import dump


class ChainFlows(Store, ABC):
    """`settle`."""

    @flow(Mode.pinned, resend=True)
    def settle(self, parents: Sequence[UUID], limit: int) -> Steps[list[Record]]:
        params = {"ids": dump(parents), "limit": limit}
        found = cast("Any", (yield Statement("waiting", params)))
        if not found:
            return []
        now: int = found[0][rows.RECORD_WIDTH]
        after = [settled(rows.record(row), _end(row), now) for row in found]
        yield settle_rows(after)
        unmet = [str(one.id) for one in after if one.state is State.cancelled]
        if unmet:
            params = {"ids": dump(unmet)}
            yield Statement("cancel_history", params | {"by": SYSTEM, "now": now})
            yield Statement("cancel", params)
        yield from wake([(_lane(one), one.due_at) for one in after], now)
        return after


def _end(row: Row) -> End | None:
    state, finished_at, above = cast("Any", row)[rows.RECORD_WIDTH + 1 :]
    waited_for = None if above is None else UUID(above)
    return None if state is None else End(State(state), finished_at, waited_for)


def _lane(child: Record) -> str | None:
    return None if child.due_at is None else home_of(child)


def settle_rows(children: Sequence[Record]) -> Statement:
    """When they are due from now on, or for whom they wait."""
    return Statement("settle", {"rows": dump(map(_settlement, children))})


def _settlement(child: Record) -> dict[str, object]:
    return {
        "settled_id": child.id,
        "settled_after": child.after,
        "settled_on": child.after_on,
        "settled_due_at": child.due_at,
        "settled_lane": _lane(child),
        "settled_error": child.error,
    }


def require_parents(new: Sequence[NewAction]) -> Steps[None]:
    """Sent again after a lost reply, a child had its parent at the first sending."""
    children = [one for one in new if one.after is not None]
    if not children:
        return
    asked = {one for child in children for one in (child.id, child.after)}
    found = cast("Any", (yield Statement("stored", {"ids": dump(asked)})))
    tenants = {UUID(action_id): tenant for action_id, tenant in found}
    for child in children:
        parent = cast("UUID", child.after)
        there = parent in tenants and tenants[parent] == child.tenant
        if child.id not in tenants and not there:
            raise ActionNotFound(parent)


def refuse_circle(action_id: UUID, new: NewAction) -> Steps[None]:
    """Two who replace at once would each see the other's action as it was. So each holds all
    that it saw until it commits, and looks again: nobody can have changed the line since."""
    if new.after is None:
        return
    held: set[str] = set()
    while True:
        found = cast("Any", (yield Statement("ancestors", {"after": str(new.after)})))
        line = {parent for (parent,) in found}
        if str(action_id) in line:
            raise InvalidArgument("after", str(new.after), CIRCLE)
        if line <= held:
            return
        held |= line
        ids = dump(sorted({str(action_id), *line}))
        yield Statement("hold", {"id": str(action_id), "ids": ids})
