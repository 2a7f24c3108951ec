"""A bulk: one act on many actions, stored, so that it goes on where it stopped.

Its first call fixes what it does, to which actions, and who does it. Each call takes the next
actions, from the newest id down to the oldest, and makes the cursor of the next call. The same
cursor again gives the answer that it gave before.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.act import Act
from duetime.model.actions.action import Action, Record
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT, SECOND
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.stored_filter import filter_data, filter_of
from duetime.model.tenant import Scope

BulkVerb = Literal["cancel", "retry", "reschedule", "shift"]
# The actions that a bulk is about: those that match a filter, or those with these ids.
Selection = Filter | frozenset[UUID]

# How many actions a call takes, and how many a dry run counts and shows.
BULK_SIZE = 1000
MAX_COUNTED = 10_000
SAMPLE_SIZE = 10
MAX_BULK_IDS = 10_000
# How long a bulk is kept after its last call.
BULK_RETENTION = 7 * 86_400 * SECOND

_STEP_BYTES = 4


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a call of `bulk` did.

    A dry run tells in `count` how many actions the bulk would be about, at most 10,000 of them
    (`capped` says that there are more), and shows some in `sample`. Any other call tells how many
    actions it `changed`, how many it `skipped`, because they were locked or could not be changed,
    and the `next_cursor`; without one, the bulk has ended.
    """

    changed: int = 0
    skipped: int = 0
    next_cursor: str | None = None
    count: int = 0
    capped: bool = False
    sample: Sequence[Action] = ()


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """What a bulk does: `due_at` is where "reschedule" moves to, `shift` how far "shift" moves."""

    verb: BulkVerb
    tenant: Scope
    selection: Selection
    due_at: int | None = None
    shift: int | None = None

    @property
    def state(self) -> State:
        return changed_state(self.verb)

    @property
    def wanted(self) -> Filter:
        """The filter of the actions that the bulk is about; without its ids, if it has those."""
        if isinstance(self.selection, Filter):
            return replace(self.selection, states=(self.state,))
        return Filter(states=(self.state,), tenant=self.tenant)


@dataclass(frozen=True, slots=True)
class BulkCall:
    """A call of a bulk: its `step` counts from 0. `selection`, `due_at` and `shift` are None where
    the caller leaves them as the first call fixed them."""

    id: UUID
    step: int
    act: Act
    verb: BulkVerb
    tenant: Scope
    selection: Selection | None = None
    due_at: int | None = None
    shift: int | None = None


@dataclass(frozen=True, slots=True)
class StoredBulk:
    """A bulk between two calls.

    Actions with ids below `front` are still to be taken: all, if it is None. `answers` has what
    each step changed and skipped.
    """

    id: UUID
    order: BulkOrder
    by: str
    note: str | None
    front: UUID | None = None
    ended: bool = False
    answers: tuple[tuple[int, int], ...] = ()

    @property
    def step(self) -> int:
        """The step of the next call."""
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class BulkAnswer:
    """What a step changed and skipped, the changed actions (none if the step was answered before),
    and whether it was the last step."""

    step: int
    changed: int
    skipped: int
    ended: bool
    records: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class BulkCount:
    """How many actions a bulk would be about, at most `MAX_COUNTED`, and the newest of them."""

    count: int
    capped: bool
    sample: Sequence[Record]


def changed_state(verb: BulkVerb) -> State:
    """Return the state of the actions that a verb changes."""
    return State.failed if verb == "retry" else State.scheduled


# -- the first call ------------------------------------------------------------------


def new_bulk(call: BulkCall) -> StoredBulk:
    """Return the bulk that a first call begins. InvalidArgument if there was none to go on with."""
    if call.step or call.selection is None:
        raise unknown_bulk(call)
    order = BulkOrder(call.verb, call.tenant, call.selection, call.due_at, call.shift)
    return StoredBulk(call.id, order, call.act.by, call.act.note)


def unknown_bulk(call: BulkCall) -> InvalidArgument:
    return InvalidArgument(
        "cursor",
        to_bulk_cursor(call.id, call.step),
        "no bulk of yours has it: it was pruned a week after its last call, or belongs to "
        "another tenant; begin a new bulk without a cursor",
    )


def damaged_bulk(call: BulkCall, error: Exception) -> InvalidArgument:
    return InvalidArgument(
        "cursor",
        to_bulk_cursor(call.id, call.step),
        f"the row of its bulk cannot be read ({error}): what it changed stays changed; begin a new "
        "bulk without a cursor for the rest",
    )


def bulk_snapshot(bulk: StoredBulk, counted: BulkCount) -> dict[str, object]:
    """Return what the audit entry of a bulk says: what it does, and how many actions it began
    with."""
    order = bulk.order
    what = {
        "due_at": order.due_at,
        "seconds": None if order.shift is None else order.shift / SECOND,
    }
    given = {name: value for name, value in what.items() if value is not None}
    count = {"count": counted.count, "capped": counted.capped}
    return {"verb": order.verb, **_shown_selection(order.selection), **given, **count}


def _shown_selection(selection: Selection) -> dict[str, object]:
    """Return the filter, or how many ids there are: each changed action has an entry of its own."""
    if isinstance(selection, Filter):
        return selection_data(selection)
    return {"ids": len(selection)}


# -- each call -----------------------------------------------------------------------


def refuse_other_bulk(call: BulkCall, bulk: StoredBulk) -> None:
    """Raise InvalidArgument unless the call goes on with the bulk as its first call fixed it."""
    order = bulk.order
    if call.act.by != bulk.by:
        raise _other(call, "another actor began this bulk; begin one of your own")
    if call.verb != order.verb:
        raise _other(call, f"its bulk has the verb {order.verb!r}: give that one")
    for argument, given, fixed in (
        ("filter or other ids", call.selection, order.selection),
        ("at", call.due_at, order.due_at),
        ("seconds", call.shift, order.shift),
    ):
        if given is not None and given != fixed:
            raise _other(call, f"its bulk has another {argument}: leave that out, or begin anew")
    if call.step > bulk.step or (call.step == bulk.step and bulk.ended):
        raise _other(call, "pass the next_cursor of the last call unchanged")


def _other(call: BulkCall, remedy: str) -> InvalidArgument:
    return InvalidArgument("cursor", to_bulk_cursor(call.id, call.step), remedy)


def earlier_answer(call: BulkCall, bulk: StoredBulk) -> BulkAnswer | None:
    """Return the answer of a step that was taken before; None if the step is the next one."""
    if call.step == bulk.step:
        return None
    changed, skipped = bulk.answers[call.step]
    return BulkAnswer(call.step, changed, skipped, bulk.ended and call.step == bulk.step - 1)


def act_of(call: BulkCall, bulk: StoredBulk) -> Act:
    """Return the act that the entries of the changed actions record; without a note of its own, it
    has that of the first call."""
    note = bulk.note if call.act.note is None else call.act.note
    return replace(call.act, note=note, part_of=("bulk", bulk.id))


def next_ids(ids: frozenset[UUID], front: UUID | None) -> list[UUID]:
    """Return the ids that the next step takes, the newest first."""
    left = (action_id for action_id in ids if front is None or action_id < front)
    return sorted(left, reverse=True)[:BULK_SIZE]


def advanced(bulk: StoredBulk, taken: Sequence[UUID], changed: int) -> StoredBulk:
    """Return the bulk after a step that took these ids, the newest first."""
    return replace(
        bulk,
        front=taken[-1] if taken else bulk.front,
        ended=len(taken) < BULK_SIZE,
        answers=(*bulk.answers, (changed, len(taken) - changed)),
    )


def last_answer(bulk: StoredBulk, records: Sequence[Record]) -> BulkAnswer:
    return BulkAnswer(bulk.step - 1, *bulk.answers[-1], bulk.ended, records)


# -- each action ---------------------------------------------------------------------


def moved_due(order: BulkOrder, record: Record, now: int) -> int | None:
    """Return the new time of a scheduled action, or the new earliest time of a waiting child; None
    if it cannot be moved: it has no time, would have one that no clock shows, or would expire
    before it can start."""
    due = record.after_at if record.waits else record.due_at
    if order.verb == "shift":
        due = None if due is None else due + (order.shift or 0)
    else:
        due = order.due_at
    if due is None or not MIN_INSTANT <= due <= MAX_INSTANT:
        return None
    if record.expires_at is not None and record.expires_at <= max(due, now):
        return None
    return due


# -- as text -------------------------------------------------------------------------


def selection_data(selection: Selection) -> dict[str, object]:
    if isinstance(selection, Filter):
        return {"filter": filter_data(selection)}
    return {"ids": [str(action_id) for action_id in sorted(selection, reverse=True)]}


def selection_of(data: Mapping[str, Any], tenant: Scope) -> Selection:
    if "ids" in data:
        return frozenset(map(UUID, data["ids"]))
    return filter_of(data["filter"], tenant)


def to_bulk_cursor(bulk_id: UUID, step: int) -> str:
    data = bulk_id.bytes + step.to_bytes(_STEP_BYTES, "big")
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_bulk_cursor(cursor: str) -> tuple[UUID, int]:
    """Return the id of a bulk and a step."""
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True)
        bulk_id, step = UUID(bytes=data[:16]), data[16:]
        if len(step) != _STEP_BYTES:
            raise ValueError("the step lacks digits, or has too many")
    except (ValueError, TypeError):
        raise InvalidArgument(
            "cursor", cursor, "pass the next_cursor of the last call unchanged"
        ) from None
    return bulk_id, int.from_bytes(step, "big")
