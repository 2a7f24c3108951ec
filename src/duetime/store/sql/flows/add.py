"""Adding actions: set by set where keys only ask or refuse, one by one where they replace."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast
from uuid import UUID

from duetime.errors import DuplicateKey, IllegalState
from duetime.model.actions.action import Added, Found, NewAction, Record
from duetime.model.actions.inserted import Births
from duetime.model.actions.new_actions import IfExists, NewActions
from duetime.model.actions.state_changes import replaced
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Rows, Series, Statement, Steps, Together, continued
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.chains import refuse_circle, require_parents
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.wakes import wake
from duetime.store.sql.statements.bulk_rows import dump

# So many are inserted by one statement: of more, the next are made ready meanwhile.
PART = 1000
# From so many on it is worth its while to keep the plan, and to make what their caller will see of
# them while the server inserts them.
MANY = 250

Slot = tuple[str | None, str, str | None]


class AddFlows(Store, ABC):
    """`add`, for every SQL store."""

    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[Sequence[Added]]:
        new = NewActions.of(new)
        if new.has("key") and if_exists == "replace":
            return Flow(lambda: _add_each(new), Mode.write)
        if new.has("key") or new.has("after") or not new.fresh:
            return _adding(new, if_exists, insert_first, Mode.write)
        return _adding(new, if_exists, self._insert_fresh, _mode(new), self._together(new))

    def _together(self, new: NewActions) -> Together[Sequence[Added]] | None:
        """Lone ones that are asked for at the same time may share a transaction."""
        if len(new) != 1:
            return None
        return Together(new, self._add_together, len(new.columns["payload"][0]))

    def _add_together(self, asked: Sequence[NewActions]) -> Flow[Sequence[Sequence[Added]]]:
        """The same for several calls, each with its answer."""

        def answers(added: Sequence[Added]) -> Steps[Sequence[Sequence[Added]]]:
            if isinstance(added, Births):
                return added.split(asked)
            ends = pairwise(accumulate(map(len, asked), initial=0))
            return [added[first:last] for first, last in ends]
            yield  # what makes this a generator

        new = NewActions.joined(asked)
        adding = _adding(new, "return", self._insert_fresh, _mode(new))
        return continued(adding, answers, adding.mode)

    def _insert_fresh(self, new: NewActions) -> Steps[Births]:
        """Where no key is asked for, and nobody can have sent them before: all, or the server
        refuses them."""
        births = Births(new)
        # All are of one instant, whenever their part is sent.
        now = (yield from clock()) if len(new) > PART else None
        if len(new) < MANY:
            found = yield _add_fresh(new, now)
        else:
            found = yield Series(_by_the_part(new, births, now))
        births.stored_at(cast("Any", found)[0][0])
        return (yield from _woken(births))


def _mode(new: NewActions) -> Mode:
    return Mode.single if len(new) <= PART else Mode.write


def _parts(new: NewActions) -> Iterator[NewActions]:
    return (new[first : first + PART] for first in range(0, len(new), PART))


def _by_the_part(new: NewActions, births: Births, now: int | None) -> Iterator[Statement]:
    """While the server inserts one part, what its caller will see of it is made."""
    shown = 0
    for part in _parts(new):
        yield _add_fresh(part, now)
        shown += len(part)
        births.show(shown)


def _add_fresh(new: NewActions, now: int | None) -> Statement:
    """What is sent by itself is stored at the server's time."""
    at = {} if now is None else {"now": now}
    return Statement("add_fresh", {"rows": rows.new_rows(new), **at})


Insert = Callable[[NewActions], Steps[Births]]


def _adding(
    new: NewActions,
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


def _add_all(new: NewActions, if_exists: IfExists, insert: Insert) -> Steps[Sequence[Added]]:
    stored: dict[UUID, Added] = {}
    if new.has("after"):
        yield from require_parents(new)
    missing = new
    while missing:
        added = yield from insert(missing)
        if len(added) == len(new):
            return added
        stored |= {one.new.id: one for one in added}
        missing = missing.without(stored)
        if missing:
            stored |= yield from _look_up(missing, if_exists)
            # Whoever held the key may have finished between the two statements: try again.
            missing = missing.without(stored)
    return [stored[one.id] for one in new]


def _add_each(new: NewActions) -> Steps[Sequence[Added]]:
    stored: dict[UUID, Added] = {}
    yield from require_parents(new)
    for one in new:
        while one.id not in stored:
            added = yield from _insert(NewActions.of([one]))
            stored |= {one.id: added[0]} if added else (yield from _replace(one))
    latest = {added.record.id: added.record for added in stored.values()}
    return [Found(latest[stored[one.id].record.id], stored[one.id].created) for one in new]


def insert_first(new: NewActions) -> Steps[Births]:
    """Store those whose id and key are free, and that have not finished before, as far as one
    statement can tell."""
    found = yield Statement("add", {"rows": rows.new_rows(new), **rows.between(new)})
    return (yield from _born(_among(new, found), found))


def _insert(new: NewActions) -> Steps[Births]:
    """The same if they were sent before: then one statement cannot tell."""
    found = yield Statement("add", {"rows": rows.new_rows(new)})
    made = _among(new, found)
    return (yield from _born((yield from _withdraw(made)) if made else made, found))


def _born(made: NewActions, found: Rows) -> Steps[Births]:
    return (yield from _woken(Births(made, cast("int", found[0][1] if made else 0))))


def _woken(births: Births) -> Steps[Births]:
    yield from wake(births.dues(), births.created_at)
    return births


def _among(new: NewActions, found: Rows) -> NewActions:
    """Those whose ids were found; the usual case is that all were."""
    if len(found) == len(new):
        return new
    ids = {rows.uuid(action_id) for action_id, *_ in cast("Any", found)}
    return new.among(ids)


def _withdraw(made: NewActions) -> Steps[NewActions]:
    """Whoever finishes the first sending while the second waits for it leaves no conflict, and
    a history that the insert was too early to see. The next statement sees it."""
    found = yield Statement("withdraw", {"ids": dump(made.columns["id"])})
    gone = {rows.uuid(action_id) for (action_id,) in cast("Any", found)}
    return made.without(gone)


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
    found = yield Statement("holders", {"rows": rows.new_rows(NewActions.of(new))})
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
