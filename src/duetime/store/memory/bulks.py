"""The bulks of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions import expiry
from duetime.model.actions.action import Record
from duetime.model.actions.state_changes import to_rescheduled
from duetime.model.bulk import (
    BULK_RETENTION,
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
    earlier_answer,
    last_answer,
    moved_due,
    new_bulk,
    next_ids,
    refuse_other_bulk,
    unknown_bulk,
)
from duetime.model.filter import Filter
from duetime.model.tenant import ANY, sees
from duetime.store.flow import immediate
from duetime.store.memory.audit import MemoryAudit
from duetime.store.memory.lanes import MemoryRow


class MemoryBulks(MemoryAudit, ABC):
    """Counts bulks and takes their steps."""

    @immediate
    def count_bulk(self, order: BulkOrder) -> BulkCount:
        return self._count(order)

    @immediate
    def step_bulk(self, call: BulkCall) -> BulkAnswer:
        bulk = self._stored_bulk(call)
        refuse_other_bulk(call, bulk)
        answered = earlier_answer(call, bulk)
        if answered is not None:
            return answered
        taken = self._next_ids(bulk)
        records = self._change(bulk, act_of(call, bulk), taken)
        bulk = advanced(bulk, taken, len(records))
        self._tables.set_bulk(bulk, self._now())
        return last_answer(bulk, records)

    def _stored_bulk(self, call: BulkCall) -> StoredBulk:
        found = self._tables.bulks.get(call.id)
        if found is None:
            bulk = new_bulk(call)
            self._audit_bulk(bulk, call.act)
            return bulk
        if found[0].order.tenant != call.tenant:
            raise unknown_bulk(call)
        return found[0]

    def _audit_bulk(self, bulk: StoredBulk, act: Act) -> None:
        scope = bulk.order.tenant
        tenant = None if scope is ANY else scope
        after = bulk_snapshot(bulk, self._count(bulk.order))
        self._audit("bulk", act, ("bulk", str(bulk.id)), tenant, {}, after)

    def _count(self, order: BulkOrder) -> BulkCount:
        found = self._matching(order)
        return BulkCount(
            min(len(found), MAX_COUNTED), len(found) > MAX_COUNTED, found[:SAMPLE_SIZE]
        )

    def _next_ids(self, bulk: StoredBulk) -> list[UUID]:
        selection, front = bulk.order.selection, bulk.front
        if not isinstance(selection, Filter):
            return next_ids(selection, front)
        found = (record.id for record in self._matching(bulk.order))
        return [action_id for action_id in found if front is None or action_id < front][:BULK_SIZE]

    def _matching(self, order: BulkOrder) -> list[Record]:
        """Return the actions that the bulk is about, newest first."""
        chosen, found = order.selection, self._tables.matching(order.wanted, self._now())
        if isinstance(chosen, Filter):
            return found
        return [record for record in found if record.id in chosen]

    def _change(self, bulk: StoredBulk, act: Act, taken: Sequence[UUID]) -> list[Record]:
        """Change the actions that can be changed, the newest first."""
        changed: list[Record] = []
        for action_id in taken:
            record = self._tables.record(action_id)
            if record is None or not sees(bulk.order.tenant, record.tenant):
                continue
            if record.state is bulk.order.state:
                after = self._steps_by_verb[bulk.order.verb](self, bulk.order, record, act)
                changed += [after] if after else []
        return changed

    def _bulk_cancel(self, order: BulkOrder, record: Record, act: Act) -> Record | None:
        return self._cancel(record, act)

    def _bulk_retry(self, order: BulkOrder, record: Record, act: Act) -> Record | None:
        taken = self._tables.key_holder(record.tenant, record.kind, record.key) is not None
        if taken or not expiry.can_be_retried(record, self._now()):
            return None
        return self._retry(record, act)

    def _bulk_move(self, order: BulkOrder, record: Record, act: Act) -> Record | None:
        due = moved_due(order, record, self._now())
        if due is None:
            return None
        after = to_rescheduled(record, due, act.by, self._now())
        self._make_due(replace(self._tables.unfinished[record.id], record=after))
        self._audit_action("reschedule", act, record, after)
        return after

    _steps_by_verb: Mapping[str, Callable[..., Record | None]] = {
        "cancel": _bulk_cancel,
        "retry": _bulk_retry,
        "reschedule": _bulk_move,
        "shift": _bulk_move,
    }

    def _prune_bulks(self) -> None:
        oldest = self._now() - BULK_RETENTION
        for bulk_id in [
            id_ for id_, (_, taken_at) in self._tables.bulks.items() if taken_at < oldest
        ]:
            self._tables.delete_bulk(bulk_id)

    # -- steps of other verbs --------------------------------------------------------

    @abstractmethod
    def _cancel(self, record: Record, act: Act) -> Record: ...

    @abstractmethod
    def _retry(self, record: Record, act: Act) -> Record: ...

    @abstractmethod
    def _make_due(self, row: MemoryRow) -> None: ...
