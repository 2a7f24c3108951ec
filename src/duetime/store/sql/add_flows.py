"""Adding actions: set by set where keys only ask or refuse, one by one where they replace."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import DuplicateKey, IllegalState
from duetime.model.action import Added, NewAction, Record
from duetime.model.key import IfExists
from duetime.model.move import born, replaced
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Statement, Steps, Together, continued
from duetime.store.sql import rows
from duetime.store.sql.chain_flows import refuse_circle, require_parents
from duetime.store.sql.table import dump
from duetime.store.sql.wakes import wake

Slot = tuple[str | None, str, str | None]


class AddFlows(Store, ABC):
    """`add`, for every SQL store."""

    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[list[Added]]:
        keyed = any(one.key is not None for one in new)
        if keyed and if_exists == "replace":
            return Flow(lambda: _add_each(new), Mode.write)
        if keyed or len(new) > 1 or any(one.after is not None for one in new):
            return Flow(lambda: _add_all(new, if_exists), Mode.write, resend=True)
        weight = sum(len(one.payload) for one in new)
        return _add_alone(new, Together(new, _add_together, weight))


def _add_alone(
    new: Sequence[NewAction], together: Together[list[Added]] | None = None
) -> Flow[list[Added]]:
    """Nothing can be in their way but the same actions, sent before: one statement."""
    return Flow(
        lambda: _add_all(new, "return", alone=True),
        Mode.single,
        resend=True,
        resent=Flow(lambda: _add_all(new, "return"), Mode.write, resend=True),
        together=together,
    )


def _add_together(asked: Sequence[Sequence[NewAction]]) -> Flow[Sequence[list[Added]]]:
    """The same for several calls, each with its answer."""

    def answers(added: list[Added]) -> Steps[Sequence[list[Added]]]:
        left = iter(added)
        return [[next(left) for _ in new] for new in asked]
        yield  # what makes this a generator

    alone = _add_alone([one for new in asked for one in new])
    return continued(alone, answers, alone.mode)


def _add_all(
    new: Sequence[NewAction], if_exists: IfExists, *, alone: bool = False
) -> Steps[list[Added]]:
    stored: dict[UUID, Added] = {}
    yield from require_parents(new)
    missing = list(new)
    while missing:
        created = yield from _insert(missing, alone=alone)
        stored |= {action_id: Added(record, True) for action_id, record in created.items()}
        missing = [one for one in missing if one.id not in stored]
        if missing:
            stored |= yield from _look_up(missing, if_exists)
            # Whoever held the key may have finished between the two statements: try again.
            missing = [one for one in missing if one.id not in stored]
    return [stored[one.id] for one in new]


def _add_each(new: Sequence[NewAction]) -> Steps[list[Added]]:
    stored: dict[UUID, Added] = {}
    yield from require_parents(new)
    for one in new:
        while one.id not in stored:
            created = yield from _insert([one])
            if one.id in created:
                stored[one.id] = Added(created[one.id], True)
            else:
                stored |= yield from _replace(one)
    latest = {added.record.id: added.record for added in stored.values()}
    return [Added(latest[stored[one.id].record.id], stored[one.id].created) for one in new]


def _insert(new: Sequence[NewAction], *, alone: bool = False) -> Steps[dict[UUID, Record]]:
    """Store those whose id and key are free, and that have not finished before: `alone`, as
    far as one statement can tell."""
    found = yield Statement("add", {"rows": rows.new_rows(new), "alone": alone or None})
    asked = {one.id.int: one for one in new}
    made: dict[int, tuple[NewAction, Record]] = {}
    for action_id, due_at, created_at in cast("Any", found):
        one = asked[rows.uuid(action_id).int]
        made[one.id.int] = (one, born(one, due_at, created_at))
    if made and not alone:
        yield from _withdraw(made)
    lanes = ((one.lane, record.due_at) for one, record in made.values())
    yield from wake(lanes, next((record.created_at for _, record in made.values()), 0))
    return {record.id: record for _, record in made.values()}


def _withdraw(made: dict[int, tuple[NewAction, Record]]) -> Steps[None]:
    """Whoever finishes the first sending while the insert waits for it leaves no conflict, and
    a history that the insert was too early to see. The next statement sees it."""
    ids = dump([record.id for _, record in made.values()])
    for (action_id,) in cast("Any", (yield Statement("withdraw", {"ids": ids}))):
        del made[UUID(action_id).int]


def _look_up(new: Sequence[NewAction], if_exists: IfExists) -> Steps[dict[UUID, Added]]:
    """What is in the way of these, as far as it still is."""
    by_id, by_slot = yield from _holders(new)
    stored: dict[UUID, Added] = {}
    for one in new:
        holder = by_slot.get((one.tenant, one.kind, one.key))
        if one.id in by_id:
            stored[one.id] = Added(by_id[one.id], True)
        elif holder is not None and if_exists == "raise":
            raise DuplicateKey(str(one.key), one.kind, holder.id)
        elif holder is not None:
            stored[one.id] = Added(holder, False)
    return stored


def _replace(new: NewAction) -> Steps[dict[UUID, Added]]:
    by_id, by_slot = yield from _holders([new])
    if new.id in by_id:
        return {new.id: Added(by_id[new.id], True)}
    holder = by_slot.get((new.tenant, new.kind, new.key))
    if holder is None:
        return {}
    if holder.state is State.scheduled:
        yield from refuse_circle(holder.id, new)
    changed = yield Statement("replace", _replacement(holder.id, new))
    if not changed:
        # It was claimed since, or is gone: look once more.
        return (yield from _refuse_running(holder.id, new))
    ((_, due_at, now),) = cast("Any", changed)
    yield from wake([(new.lane, due_at)], now)
    return {new.id: Added(replaced(holder, new, due_at, now), False)}


def _refuse_running(action_id: UUID, new: NewAction) -> Steps[dict[UUID, Added]]:
    by_id, _ = yield from _holders([replace(new, id=action_id)])
    found = by_id.get(action_id)
    if found is not None and found.state is State.running:
        raise IllegalState("replace", action_id, found.state, [State.scheduled])
    return {}


def _holders(new: Sequence[NewAction]) -> Steps[tuple[dict[UUID, Record], dict[Slot, Record]]]:
    """What is stored under these ids, and the unfinished actions that hold these keys."""
    asked = {one.id for one in new}
    found = yield Statement("holders", {"rows": rows.new_rows(new)})
    records = [rows.record(row) for row in found]
    by_id = {record.id: record for record in records if record.id in asked}
    by_slot = {
        (record.tenant, record.kind, record.key): record
        for record in records
        if not record.state.finished
    }
    return by_id, by_slot


def _replacement(holder: UUID, new: NewAction) -> dict[str, object]:
    return {
        "id": str(holder),
        "version": new.version,
        "payload": new.payload,
        "queue": new.queue,
        "priority": new.priority,
        "correlation_id": new.correlation_id,
        "by": new.by,
        **rows.when(new)._asdict(),
        "after": None if new.after is None else str(new.after),
    }
