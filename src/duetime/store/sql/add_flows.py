"""Adding actions: set by set where keys only ask or refuse, one by one where they replace."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, cast
from uuid import UUID

from duetime.errors import DuplicateKey, IllegalState
from duetime.model.action import Added, Found, NewAction, Record
from duetime.model.born import Births
from duetime.model.key import IfExists
from duetime.model.move import replaced
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Rows, Series, Statement, Steps, Together, continued
from duetime.store.sql import rows
from duetime.store.sql.chain_flows import refuse_circle, require_parents
from duetime.store.sql.table import dump
from duetime.store.sql.wakes import wake
from duetime.store.sql.worker_flows import clock

# So many are inserted by one statement: of more, the next are made ready meanwhile.
PART = 1000

Slot = tuple[str | None, str, str | None]


class AddFlows(Store, ABC):
    """`add`, for every SQL store."""

    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[Sequence[Added]]:
        keyed = any(one.key is not None for one in new)
        if keyed and if_exists == "replace":
            return Flow(lambda: _add_each(new), Mode.write)
        if keyed or any(one.after is not None for one in new):
            return _adding(new, if_exists, insert_first, Mode.write)
        weight = sum(len(one.payload) for one in new)
        together = Together(new, self._add_together, weight) if len(new) < 2 else None
        return _adding(new, if_exists, self._insert_new, _mode(new), together)

    def _add_together(
        self, asked: Sequence[Sequence[NewAction]]
    ) -> Flow[Sequence[Sequence[Added]]]:
        """The same for several calls, each with its answer."""

        def answers(added: Sequence[Added]) -> Steps[Sequence[Sequence[Added]]]:
            ends = pairwise(accumulate(map(len, asked), initial=0))
            return [added[first:last] for first, last in ends]
            yield  # what makes this a generator

        new = [one for new in asked for one in new]
        adding = _adding(new, "return", self._insert_new, _mode(new))
        return continued(adding, answers, adding.mode)

    def _insert_new(self, new: Sequence[NewAction]) -> Steps[Births]:
        """Where no key is asked for, and nobody can have sent them before: those that have not
        finished, as far as one statement can tell."""
        parts = [new[first : first + PART] for first in range(0, len(new), PART)]
        if len(parts) > 1:
            # All are of one instant, whenever their part is sent.
            now = yield from clock()
            found = yield Series(_add_new(part, now) for part in parts)
        else:
            found = yield _add_new(new)
        told: list[tuple[int, str, int]] = cast("Any", found)
        if sum(count for count, *_ in told) < len(new):
            new = [*chain(*map(_stored, parts, told))]
        return (yield from _told(new, told[0][2]))


def _mode(new: Sequence[NewAction]) -> Mode:
    return Mode.single if len(new) <= PART else Mode.write


def _stored(part: Sequence[NewAction], told: tuple[int, str, int]) -> Sequence[NewAction]:
    count, some, _ = told
    if count == len(part):
        return part
    stored = rows.ids(some)
    return [one for one in part if one.id in stored]


def _add_new(new: Sequence[NewAction], now: int | None = None) -> Statement:
    params = {"rows": rows.new_rows(new), "limit": len(new), **rows.between(new)}
    return Statement("add_new", params if now is None else params | {"now": now})


Insert = Callable[[Sequence[NewAction]], Steps[Births]]


def _adding(
    new: Sequence[NewAction],
    if_exists: IfExists,
    insert: Insert,
    mode: Mode,
    together: Together[Sequence[Added]] | None = None,
) -> Flow[Sequence[Added]]:
    """Only if they are sent again can the same actions, sent before, be in their way."""
    return Flow(
        lambda: _add_all(new, if_exists, insert),
        mode,
        resend=True,
        resent=Flow(lambda: _add_all(new, if_exists, _insert), Mode.write, resend=True),
        together=together,
    )


def _add_all(
    new: Sequence[NewAction], if_exists: IfExists, insert: Insert
) -> Steps[Sequence[Added]]:
    stored: dict[UUID, Added] = {}
    yield from require_parents(new)
    missing = list(new)
    while missing:
        added = yield from insert(missing)
        if len(added) == len(new):
            return added
        stored |= {one.new.id: one for one in added}
        missing = [one for one in missing if one.id not in stored]
        if missing:
            stored |= yield from _look_up(missing, if_exists)
            # Whoever held the key may have finished between the two statements: try again.
            missing = [one for one in missing if one.id not in stored]
    return [stored[one.id] for one in new]


def _add_each(new: Sequence[NewAction]) -> Steps[Sequence[Added]]:
    stored: dict[UUID, Added] = {}
    yield from require_parents(new)
    for one in new:
        while one.id not in stored:
            added = yield from _insert([one])
            stored |= {one.id: added[0]} if added else (yield from _replace(one))
    latest = {added.record.id: added.record for added in stored.values()}
    return [Found(latest[stored[one.id].record.id], stored[one.id].created) for one in new]


def insert_first(new: Sequence[NewAction]) -> Steps[Births]:
    """Store those whose id and key are free, and that have not finished before, as far as one
    statement can tell."""
    found = yield Statement("add", {"rows": rows.new_rows(new), **rows.between(new)})
    return (yield from _born(_among(new, found), found))


def _insert(new: Sequence[NewAction]) -> Steps[Births]:
    """The same if they were sent before: then one statement cannot tell."""
    found = yield Statement("add", {"rows": rows.new_rows(new)})
    made = _among(new, found)
    return (yield from _born((yield from _withdraw(made)) if made else made, found))


def _born(made: Sequence[NewAction], found: Rows) -> Steps[Births]:
    return (yield from _told(made, cast("int", found[0][1]))) if made else Births([], 0)


def _told(made: Sequence[NewAction], now: int) -> Steps[Births]:
    births = Births(made, now)
    yield from wake(births.dues(), now)
    return births


def _among(new: Sequence[NewAction], found: Rows) -> Sequence[NewAction]:
    """Those whose ids were found; the usual case is that all were."""
    if len(found) == len(new):
        return new
    asked = {one.id: one for one in new}
    return [asked[rows.uuid(action_id)] for action_id, *_ in cast("Any", found)]


def _withdraw(made: Sequence[NewAction]) -> Steps[Sequence[NewAction]]:
    """Whoever finishes the first sending while the second waits for it leaves no conflict, and
    a history that the insert was too early to see. The next statement sees it."""
    found = yield Statement("withdraw", {"ids": dump([one.id for one in made])})
    gone = {rows.uuid(action_id) for (action_id,) in cast("Any", found)}
    return [one for one in made if one.id not in gone] if gone else made


def _look_up(new: Sequence[NewAction], if_exists: IfExists) -> Steps[dict[UUID, Added]]:
    """What is in the way of these, as far as it still is."""
    by_id, by_slot = yield from _holders(new)
    stored: dict[UUID, Added] = {}
    for one in new:
        holder = by_slot.get((one.tenant, one.kind, one.key))
        if one.id in by_id:
            stored[one.id] = Found(by_id[one.id], True)
        elif holder is not None and if_exists == "raise":
            raise DuplicateKey(str(one.key), one.kind, holder.id)
        elif holder is not None:
            stored[one.id] = Found(holder, False)
    return stored


def _replace(new: NewAction) -> Steps[dict[UUID, Added]]:
    by_id, by_slot = yield from _holders([new])
    if new.id in by_id:
        return {new.id: Found(by_id[new.id], True)}
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
    return {new.id: Found(replaced(holder, new, due_at, now), False)}


def _refuse_running(action_id: UUID, new: NewAction) -> Steps[dict[UUID, Added]]:
    by_id, _ = yield from _holders([new._replace(id=action_id)])
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
