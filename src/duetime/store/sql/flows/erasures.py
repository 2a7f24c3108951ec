"""Erasures, for all SQL stores: the data of actions is wiped."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import cast
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.erasure import (
    MAX_LEFT,
    Erased,
    ErasureOrder,
    erasure_snapshot,
    front_after,
)
from duetime.model.tenant import ANY
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.actions import ActionFlows
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.locked import locked_actions
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.filter_params import filter_params


class ErasureFlows(ActionFlows, ABC):
    """The flow of `erase`."""

    @flow(Mode.write)
    def erase(self, order: ErasureOrder) -> Steps[Erased]:
        cancelled = yield from self._cancel_waiting(order)
        # Before finished ones are looked for, which these are now.
        yield from _wipe([record.id for record in cancelled])
        finished = yield from _lock_finished(order, order.limit - len(cancelled))
        yield from _wipe(finished)
        front = front_after(order, cancelled, finished)
        done = yield from _erased(order, cancelled, len(cancelled) + len(finished), front)
        if done.erased:
            yield from self._audit_erasure(order, done)
        return done

    def _cancel_waiting(self, order: ErasureOrder) -> Steps[list[Record]]:
        params = filter_params(order.wanted) | {"limit": order.limit, "without_data": True}
        found = locked_actions((yield Statement("erase_lock_scheduled", params)))
        return (yield from self._cancel(found, order.act))

    def _audit_erasure(self, order: ErasureOrder, done: Erased) -> Steps[None]:
        scope, after = order.wanted.tenant, erasure_snapshot(order, done)
        entry = audit_row(self._ids(), None if scope is ANY else scope, str(order.id), {}, after)
        yield insert_audit("erase", order.act, (yield from clock()), [entry], "erase")


def _lock_finished(order: ErasureOrder, limit: int) -> Steps[list[UUID]]:
    if not limit:
        return []
    params = filter_params(order.wanted) | _below(order.before) | {"limit": limit}
    found = yield Statement("erase_lock_finished", params)
    return [UUID(cast("str", action_id)) for (action_id,) in found]


def _below(front: UUID | None) -> dict[str, object]:
    return {"before": None if front is None else str(front)}


def _wipe(ids: Sequence[UUID]) -> Steps[None]:
    if ids:
        for name in ("erase_history", "erase_runs", "erase_tracebacks"):
            yield Statement(name, {"ids": json_param(ids)})


def _erased(
    order: ErasureOrder, cancelled: Sequence[Record], erased: int, front: UUID | None
) -> Steps[Erased]:
    params = filter_params(order.wanted) | {"limit": MAX_LEFT}
    ((unfinished, running),) = yield Statement("erase_left_unfinished", params)
    ((finished,),) = yield Statement("erase_left_finished", params | _below(front))
    jobs: object = 0
    if order.jobs_of is not None:
        ((jobs,),) = yield Statement("jobs_of_tenant", {"tenant": order.jobs_of})
    left = min(cast("int", unfinished) + cast("int", finished), MAX_LEFT)
    return Erased(cancelled, erased, left, cast("int", running), cast("int", jobs), front)
