"""Chains, for all SQL stores: checks of a new child's parent, and the settlement of children."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Sequence
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound, InvalidArgument
from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.chain import (
    CYCLE_REMEDY,
    NO_TRACES,
    ParentEnd,
    RunTraces,
    settle_child,
)
from duetime.model.actions.state_changes import default_lane
from duetime.model.state import State
from duetime.model.tenant import SYSTEM
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow, wake
from duetime.store.sql.flows import records
from duetime.store.sql.statements.bulk_rows import json_param


class ChainFlows(Store, ABC):
    """The flow of `settle`."""

    @flow(Mode.pinned, resend=True)
    def settle(
        self, parents: Sequence[UUID], limit: int, run_traces: RunTraces = NO_TRACES
    ) -> Steps[list[Record]]:
        params = {"ids": json_param(parents), "limit": limit}
        found = cast("Any", (yield Statement("lock_settleable", params)))
        if not found:
            return []
        now: int = found[0][records.RECORD_WIDTH]
        after = [
            settle_child(records.record(row), _parent_end(row, run_traces), now) for row in found
        ]
        yield settle_statement(after)
        unmet = [str(child.id) for child in after if child.state is State.cancelled]
        if unmet:
            params = {"ids": json_param(unmet)}
            yield Statement("cancel_history", params | {"by": SYSTEM, "now": now})
            yield Statement("delete_scheduled", params)
        yield from wake([(_lane(child), child.due_at) for child in after], now)
        return after


def _parent_end(row: Row, run_traces: RunTraces) -> ParentEnd | None:
    state, finished_at, grandparent_id, parent_id = cast("Any", row)[records.RECORD_WIDTH + 1 :]
    if state is None:
        return None
    grandparent = None if grandparent_id is None else UUID(grandparent_id)
    return ParentEnd(State(state), finished_at, grandparent, run_traces.get(UUID(parent_id)))


def _lane(child: Record) -> str | None:
    return None if child.due_at is None else default_lane(child)


def settle_statement(children: Sequence[Record]) -> Statement:
    """Return the statement that stores the children's due times, or the parents they wait for."""
    return Statement("settle", {"rows": json_param(map(_settlement, children))})


def _settlement(child: Record) -> dict[str, object]:
    return {
        "settled_id": child.id,
        "settled_after": child.after,
        "settled_on": child.after_on,
        "settled_due_at": child.due_at,
        "settled_lane": _lane(child),
        "settled_error": child.error,
        "settled_trace": child.trace,
    }


def require_parents(new: Sequence[NewAction]) -> Steps[None]:
    """Raise ActionNotFound for a child whose parent is not stored in the child's tenant.

    A child that is stored already is a replay: its parent was checked the first time.
    """
    children = [action for action in new if action.after is not None]
    if not children:
        return
    ids = {cast("UUID", id_) for child in children for id_ in (child.id, child.after)}
    tenants = yield from stored_tenants(ids, {child.tenant for child in children})
    for child in children:
        parent = cast("UUID", child.after)
        exists = parent in tenants and tenants[parent] == child.tenant
        if child.id not in tenants and not exists:
            raise ActionNotFound(parent)


def stored_tenants(
    ids: Collection[UUID], tenants: Collection[str | None]
) -> Steps[dict[UUID, str | None]]:
    """Return the ids among these that are stored for one of the tenants, each with its tenant."""
    names = json_param({tenant or "" for tenant in tenants})
    found = yield Statement("stored_tenants", {"ids": json_param(ids), "names": names})
    return {UUID(action_id): tenant for action_id, tenant in cast("Any", found)}


def refuse_cycle(action_id: UUID, new: NewAction) -> Steps[None]:
    """Raise InvalidArgument if the new parent waits, directly or not, for the action itself.

    Two concurrent replacements could each see the other's action unchanged. So each locks the
    ancestors that it read until commit, and reads them again under these locks.
    """
    if new.after is None:
        return
    locked: set[str] = set()
    while True:
        found = cast("Any", (yield Statement("ancestors", {"after": str(new.after)})))
        ancestors = {parent for (parent,) in found}
        if str(action_id) in ancestors:
            raise InvalidArgument("after", str(new.after), CYCLE_REMEDY)
        if ancestors <= locked:
            return
        locked |= ancestors
        ids = json_param(sorted({str(action_id), *ancestors}))
        yield Statement("lock_ancestors", {"id": str(action_id), "ids": ids})
