"""Bulks, for all SQL stores: counted, and taken step by step."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from duetime.errors import UnreadableRow
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.expiry import can_be_retried
from duetime.model.actions.state_changes import to_rescheduled
from duetime.model.bulk import (
    BULK_SIZE,
    MAX_COUNTED,
    SAMPLE_SIZE,
    BulkAnswer,
    BulkCall,
    BulkCount,
    BulkOrder,
    StoredBulk,
    act_of,
    advanced,
    bulk_snapshot,
    damaged_bulk,
    earlier_answer,
    last_answer,
    moved_due,
    new_bulk,
    next_ids,
    refuse_other_bulk,
    selection_data,
    selection_of,
    unknown_bulk,
)
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.store.flow import Mode, Row, Statement, Steps, flow, wake
from duetime.store.sql.flows import records
from duetime.store.sql.flows.actions import ActionFlows
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.locked import LockedAction, locked_actions
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.filter_params import filter_params


class BulkFlows(ActionFlows, ABC):
    """Flows that count bulks and take their steps."""

    @flow(Mode.read)
    def count_bulk(self, order: BulkOrder) -> Steps[BulkCount]:
        return (yield from _count(order))

    @flow(resend=True)
    def step_bulk(self, call: BulkCall) -> Steps[BulkAnswer]:
        bulk = yield from self._locked_bulk(call)
        refuse_other_bulk(call, bulk)
        answered = earlier_answer(call, bulk)
        if answered is not None:
            return answered
        taken = yield from _next_ids(bulk)
        changed = yield from self._change(bulk, act_of(call, bulk), taken)
        bulk = advanced(bulk, taken, len(changed))
        yield _advance(bulk)
        return last_answer(bulk, changed)

    def _locked_bulk(self, call: BulkCall) -> Steps[StoredBulk]:
        lock = Statement("bulk_lock", {"id": str(call.id), "scope": _scope_text(call.tenant)})
        found = yield lock
        if not found:
            yield from self._add_bulk(new_bulk(call), call.act)
            # Another call may have stored it while this one waited to.
            found = yield lock
        if not found:
            raise unknown_bulk(call)
        try:
            return _stored_bulk(call, found[0])
        except (*records.UNREADABLE_ERRORS, UnreadableRow) as error:
            raise damaged_bulk(call, error) from error

    def _add_bulk(self, bulk: StoredBulk, act: Act) -> Steps[None]:
        added = yield Statement("bulk_add", _bulk_params(bulk))
        if not added:
            return
        scope = bulk.order.tenant
        after = bulk_snapshot(bulk, (yield from _count(bulk.order)))
        entry = audit_row(self._ids(), None if scope is ANY else scope, str(bulk.id), {}, after)
        yield insert_audit("bulk", act, cast("int", added[0][0]), [entry], "bulk")

    # -- the actions of a step -------------------------------------------------------

    def _change(self, bulk: StoredBulk, act: Act, taken: Sequence[UUID]) -> Steps[list[Record]]:
        if not taken:
            return []
        found = yield from _lock_suitable(bulk.order, taken)
        if bulk.order.verb == "cancel":
            return (yield from self._cancel(found, act))
        if bulk.order.verb == "retry":
            valid = [action for action in found if can_be_retried(action.record, action.now)]
            return (yield from self._retry(valid, act))
        return (yield from self._move(bulk.order, found, act))

    def _move(
        self, order: BulkOrder, found: Sequence[LockedAction], act: Act
    ) -> Steps[list[Record]]:
        dues = [(action, moved_due(order, action.record, action.now)) for action in found]
        moved = [(action, due) for action, due in dues if due is not None]
        if not moved:
            return []
        now = found[0].now
        rows = [{"action_id": item.record.id, "new_due_at": due} for item, due in moved]
        yield Statement("bulk_move", {"rows": json_param(rows), "by": act.by, "now": now})
        changes = [
            (item.record, to_rescheduled(item.record, due, act.by, now)) for item, due in moved
        ]
        yield from self._audit_changes("reschedule", act, now, changes)
        yield from wake([(item.lane, due) for item, due in moved], now)
        return [after for _, after in changes]


def _count(order: BulkOrder) -> Steps[BulkCount]:
    if not _may_match(order):
        return BulkCount(0, False, ())
    statements, params = _statements(order), _order_params(order)
    ((count,),) = yield Statement(statements.count, params | {"limit": MAX_COUNTED + 1})
    newest = yield Statement(statements.ids, params | {"limit": SAMPLE_SIZE})
    sample: list[Record] = []
    for (action_id,) in newest:
        sample += map(records.record, (yield Statement("get", {"id": action_id})))
    counted = cast("int", count)
    return BulkCount(min(counted, MAX_COUNTED), counted > MAX_COUNTED, sample)


def _next_ids(bulk: StoredBulk) -> Steps[list[UUID]]:
    order = bulk.order
    if not isinstance(order.selection, Filter):
        return next_ids(order.selection, bulk.front)
    if not _may_match(order):
        return []
    before = None if bulk.front is None else str(bulk.front)
    params = _order_params(order) | {"before": before, "limit": BULK_SIZE}
    found = yield Statement(_statements(order).ids, params)
    return [UUID(cast("str", action_id)) for (action_id,) in found]


def _lock_suitable(order: BulkOrder, taken: Sequence[UUID]) -> Steps[list[LockedAction]]:
    """Lock those that still match and that no other transaction has locked, the newest first."""
    params = _order_params(order) | {"ids": json_param(taken), "without_data": True}
    return locked_actions((yield Statement(_statements(order).lock, params)))


@dataclass(frozen=True, slots=True)
class _Statements:
    """The names of the statements that read the table of a bulk's actions."""

    ids: str
    count: str
    lock: str


_SCHEDULED = _Statements("bulk_scheduled", "bulk_scheduled_count", "bulk_lock_scheduled")
_FAILED = _Statements("bulk_failed", "bulk_failed_count", "bulk_lock_failed")


def _statements(order: BulkOrder) -> _Statements:
    return _FAILED if order.state is State.failed else _SCHEDULED


def _order_params(order: BulkOrder) -> dict[str, object]:
    chosen, params = order.selection, filter_params(order.wanted)
    return params if isinstance(chosen, Filter) else params | {"ids": json_param(chosen)}


def _may_match(order: BulkOrder) -> bool:
    """Return whether actions in the state that the verb needs can match at all."""
    return bool(order.wanted.unfinished_states or order.wanted.finished_states)


# -- as a row ------------------------------------------------------------------------


def _bulk_params(bulk: StoredBulk) -> Mapping[str, object]:
    order = bulk.order
    return {
        "id": str(bulk.id),
        "verb": order.verb,
        "scope": _scope_text(order.tenant),
        "by": bulk.by,
        "note": bulk.note,
        "selection": json.dumps(selection_data(order.selection)),
        "due_at": order.due_at,
        "shift": order.shift,
    }


def _stored_bulk(call: BulkCall, row: Row) -> StoredBulk:
    """Read a bulk. One of UNREADABLE_ERRORS if a value of it is damaged."""
    verb, by, note, selection, due_at, shift, front, ended, answers = cast("Any", row)
    records.require_storable((verb, by, note, selection, answers))
    records.require_maybe_integers((due_at, shift))
    chosen = selection_of(json.loads(selection), call.tenant)
    return StoredBulk(
        call.id,
        BulkOrder(verb, call.tenant, chosen, due_at, shift),
        by,
        note,
        None if front is None else UUID(front),
        _ENDED[ended],
        tuple(_answer(text) for text in answers.split()),
    )


_ENDED = {0: False, 1: True}


def _answer(text: str) -> tuple[int, int]:
    changed, skipped = text.split(":")
    return int(changed), int(skipped)


def _advance(bulk: StoredBulk) -> Statement:
    changed, skipped = bulk.answers[-1]
    return Statement(
        "bulk_advance",
        {
            "id": str(bulk.id),
            "until_id": None if bulk.front is None else str(bulk.front),
            "ended": int(bulk.ended),
            "answer": f"{changed}:{skipped} ",
        },
    )


def _scope_text(scope: Scope) -> str:
    if scope is ANY:
        return "*"
    return "-" if scope is None else f"={scope}"
