"""Inserts actions: in batches, or one by one where a key may replace an action."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, cast
from uuid import UUID

from duetime.errors import DuplicateKey
from duetime.model.act import SYSTEM_ACT, Act
from duetime.model.actions.action import Added, AddedRecord, NewAction, Record
from duetime.model.actions.expiry import early_expiry
from duetime.model.actions.new_actions import IfExists, InsertedBatch, NewActions
from duetime.model.actions.state_changes import replacement_snapshots, to_replaced
from duetime.model.ids import NewId
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.flow import Batchable, Flow, Mode, Pipeline, Rows, Statement, Steps, then, wake
from duetime.store.sql.flows import records
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.chains import refuse_cycle, require_parents, stored_tenants
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.locked import locked_actions, require_state
from duetime.store.sql.statements import bulk_rows
from duetime.store.sql.statements.bulk_rows import json_param

# At most this many rows are inserted by a statement; the next batch is prepared meanwhile.
INSERT_BATCH_SIZE = 1000
# From this many rows on, a pipeline pays: it caches the plan, and the caller's result is built
# while the server inserts.
PIPELINE_MIN_ROWS = 250

# The tenant, kind and key of an action, which are unique among unfinished actions.
KeySlot = tuple[str | None, str, str | None]


class AddFlows(Store, ABC):
    """The flow of `add`."""

    _ids: NewId

    def add(
        self, new: Sequence[NewAction], if_exists: IfExists, act: Act = SYSTEM_ACT
    ) -> Flow[Sequence[Added]]:
        new = NewActions.of(new)
        if new.has("key") and if_exists == "replace":
            return Flow(lambda: self._add_each(new, act), Mode.write)
        if new.has("key") or new.has("after") or new.has("expires_at") or not new.fresh:
            return _add_flow(new, if_exists, insert_checked, Mode.write)
        return _add_flow(
            new, if_exists, self._insert_fresh, _insert_mode(new), self._batchable(new)
        )

    def _batchable(self, new: NewActions) -> Batchable[Sequence[Added]] | None:
        """Return how a single action may share a transaction with concurrent calls."""
        if len(new) != 1:
            return None
        return Batchable(new, self._add_calls, len(new.columns["payload"][0]))

    def _add_calls(self, calls: Sequence[NewActions]) -> Flow[Sequence[Sequence[Added]]]:
        """Return the flow that adds the actions of several calls, and the answer for each."""

        def answers(added: Sequence[Added]) -> Steps[Sequence[Sequence[Added]]]:
            if isinstance(added, InsertedBatch):
                return added.split(calls)
            ends = pairwise(accumulate(map(len, calls), initial=0))
            return [added[first:last] for first, last in ends]
            yield  # makes this function a generator

        new = NewActions.joined(calls)
        add_flow = _add_flow(new, "return", self._insert_fresh, _insert_mode(new))
        return then(add_flow, answers, add_flow.mode)

    def _insert_fresh(self, new: NewActions) -> Steps[InsertedBatch]:
        """Insert actions that have no key and were never sent before: all of them, or the
        statement fails."""
        inserted = InsertedBatch(new)
        # All batches share a creation time.
        now = (yield from clock()) if len(new) > INSERT_BATCH_SIZE else None
        if len(new) < PIPELINE_MIN_ROWS:
            found = yield _add_fresh(new, now)
        else:
            found = yield Pipeline(_insert_batches(new, inserted, now))
        inserted.mark_stored(cast("Any", found)[0][0])
        return (yield from _wake_lanes(inserted))

    def _add_each(self, new: NewActions, act: Act) -> Steps[Sequence[Added]]:
        """Insert or replace actions one by one."""
        stored: dict[UUID, Added] = {}
        yield from _check(new)
        for action in new:
            while action.id not in stored:
                added = yield from _insert_replayed(NewActions.of([action]))
                stored |= (
                    {action.id: added[0]} if added else (yield from self._replace(action, act))
                )
        latest = {added.record.id: added.record for added in stored.values()}
        return [
            AddedRecord(latest[stored[action.id].record.id], stored[action.id].created)
            for action in new
        ]

    def _replace(self, new: NewAction, act: Act) -> Steps[dict[UUID, Added]]:
        """Replace the action that holds the key; empty if none holds it any more."""
        by_id, by_slot = yield from _holders([new])
        if new.id in by_id:
            return {new.id: AddedRecord(by_id[new.id], True)}
        holder = by_slot.get((new.tenant, new.kind, new.key))
        if holder is None:
            return {}
        if holder.state is State.scheduled:
            yield from refuse_cycle(holder.id, new)
        # It may have changed since it was read: what the audit log shows is read under the lock.
        locked = locked_actions((yield Statement("lock", {"id": str(holder.id)})))
        if not locked:
            return {}
        before = locked[0].record
        require_state("replace", before, [State.scheduled])
        replaced = yield Statement("replace", _replace_params(holder.id, new))
        ((_, due_at, now),) = cast("Any", replaced)
        after = to_replaced(before, new, due_at, now)
        snapshots = replacement_snapshots(before, after)
        entry = audit_row(self._ids(), before.tenant, str(before.id), *snapshots)
        yield insert_audit("replace", replace(act, by=new.by), now, [entry])
        yield from wake([(new.lane, due_at)], now)
        return {new.id: AddedRecord(after, False)}


def _insert_mode(new: NewActions) -> Mode:
    return Mode.single if len(new) <= INSERT_BATCH_SIZE else Mode.write


def _batches(new: NewActions) -> Iterator[NewActions]:
    return (
        new[first : first + INSERT_BATCH_SIZE] for first in range(0, len(new), INSERT_BATCH_SIZE)
    )


def _insert_batches(
    new: NewActions, inserted: InsertedBatch, now: int | None
) -> Iterator[Statement]:
    """Yield a statement for each batch; build the caller's result while the server inserts."""
    built = 0
    for batch in _batches(new):
        yield _add_fresh(batch, now)
        built += len(batch)
        inserted.build_actions(built)


def _add_fresh(new: NewActions, now: int | None) -> Statement:
    """Return the statement for a batch; if `now` is None, the server's clock is used."""
    at = {} if now is None else {"now": now}
    return Statement("add_fresh", {**bulk_rows.insert_params(new), **at})


Insert = Callable[[NewActions], Steps[InsertedBatch]]


def _add_flow(
    new: NewActions,
    if_exists: IfExists,
    insert: Insert,
    mode: Mode,
    batchable: Batchable[Sequence[Added]] | None = None,
) -> Flow[Sequence[Added]]:
    """Return a flow whose replay also checks for the same actions, stored before the reply was
    lost."""
    return Flow(
        lambda: _add_all(new, if_exists, insert),
        mode,
        resend=True,
        replay=Flow(lambda: _add_all(new, if_exists, _insert_replayed), Mode.write, resend=True),
        batchable=batchable,
    )


def _add_all(new: NewActions, if_exists: IfExists, insert: Insert) -> Steps[Sequence[Added]]:
    stored: dict[UUID, Added] = {}
    yield from _check(new)
    missing = new
    while missing:
        added = yield from insert(missing)
        if len(added) == len(new):
            return added
        stored |= {item.new.id: item for item in added}
        missing = missing.without(stored)
        if missing:
            stored |= yield from _find_stored(missing, if_exists)
            # The key's holder may have finished between the two statements: try again.
            missing = missing.without(stored)
    return [stored[action.id] for action in new]


def _check(new: NewActions) -> Steps[None]:
    if new.has("after"):
        yield from require_parents(new)
    if new.has("expires_at"):
        yield from _refuse_early_expiries(new)


def _refuse_early_expiries(new: NewActions) -> Steps[None]:
    """Raise InvalidArgument for an action that would expire before it can start. One that is stored
    already is a replay: it was checked the first time."""
    now = yield from clock()
    early = [(action, error) for action in new if (error := early_expiry(action, now))]
    if not early:
        return
    stored = yield from stored_tenants(
        {action.id for action, _ in early}, {action.tenant for action, _ in early}
    )
    for action, error in early:
        if action.id not in stored:
            raise error


def insert_checked(new: NewActions) -> Steps[InsertedBatch]:
    """Insert the actions whose id and key are free, unless they have finished already, as far as
    a single statement sees it."""
    found = yield Statement("add", {**bulk_rows.insert_params(new), **bulk_rows.id_bounds(new)})
    return (yield from _inserted_batch(_those_inserted(new, found), found))


def _insert_replayed(new: NewActions) -> Steps[InsertedBatch]:
    """Insert actions that may have been sent before: a second statement removes those that have
    finished already."""
    found = yield Statement("add", bulk_rows.insert_params(new))
    inserted = _those_inserted(new, found)
    return (
        yield from _inserted_batch(
            (yield from _delete_finished(inserted)) if inserted else inserted, found
        )
    )


def _inserted_batch(inserted: NewActions, found: Rows) -> Steps[InsertedBatch]:
    return (
        yield from _wake_lanes(InsertedBatch(inserted, cast("int", found[0][1] if inserted else 0)))
    )


def _wake_lanes(inserted: InsertedBatch) -> Steps[InsertedBatch]:
    yield from wake(inserted.lane_dues(), inserted.created_at)
    return inserted


def _those_inserted(new: NewActions, found: Rows) -> NewActions:
    """Return the actions whose ids are in `found`: usually all of them."""
    if len(found) == len(new):
        return new
    ids = {records.as_uuid(action_id) for action_id, *_ in cast("Any", found)}
    return new.among(ids)


def _delete_finished(inserted: NewActions) -> Steps[NewActions]:
    """Delete actions that were inserted although they have finished already.

    If an action finishes while its replayed insert waits for it, the insert meets no conflict, and
    its snapshot is too old to see the history. The next statement sees it.
    """
    found = yield Statement("delete_replayed", {"ids": json_param(inserted.columns["id"])})
    deleted = {records.as_uuid(action_id) for (action_id,) in cast("Any", found)}
    return inserted.without(deleted)


def _find_stored(new: Sequence[NewAction], if_exists: IfExists) -> Steps[dict[UUID, Added]]:
    """Return what is stored under the ids or keys of these actions, as far as it still is."""
    by_id, by_slot = yield from _holders(new)
    stored: dict[UUID, Added] = {}
    for action in new:
        holder = by_slot.get((action.tenant, action.kind, action.key))
        if action.id in by_id:
            stored[action.id] = AddedRecord(by_id[action.id], True)
        elif holder is not None and if_exists == "raise":
            raise DuplicateKey(str(action.key), action.kind, holder.id)
        elif holder is not None:
            stored[action.id] = AddedRecord(holder, False)
    return stored


def _holders(new: Sequence[NewAction]) -> Steps[tuple[dict[UUID, Record], dict[KeySlot, Record]]]:
    """Read the actions stored under these ids, and the unfinished actions that hold these keys."""
    ids = {action.id for action in new}
    found = yield Statement("key_holders", {"rows": bulk_rows.new_rows(NewActions.of(new))})
    holders = [records.record(row) for row in found]
    by_id = {record.id: record for record in holders if record.id in ids}
    by_slot = {
        (record.tenant, record.kind, record.key): record
        for record in holders
        if not record.state.finished
    }
    return by_id, by_slot


def _replace_params(holder: UUID, new: NewAction) -> dict[str, object]:
    return {
        "id": str(holder),
        "version": new.version,
        "payload": new.payload,
        "queue": new.queue,
        "priority": new.priority,
        "correlation_id": new.correlation_id,
        "expires_at": new.expires_at,
        "trace": new.trace,
        "by": new.by,
        **bulk_rows.timing(new)._asdict(),
        "after": None if new.after is None else str(new.after),
    }
