"""Rows as the drivers give them, and the values of the model.

Rows are positional: the order of columns here is the order in the `.sql` files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, cast
from uuid import UUID

from duetime.model.actions.action import NewAction, Record, StoredRun, to_record
from duetime.model.actions.claim import Claim, Expired, LaneHead, Lease, Swept
from duetime.model.actions.completion import Again, Ending, Finish
from duetime.model.actions.new_actions import NewActions
from duetime.model.audit import AuditEntry
from duetime.model.columns import unzipped
from duetime.model.ids import numbers_of, uuid_of
from duetime.model.state import Outcome, State
from duetime.store.flow import Row
from duetime.store.sql.statements.bulk_rows import Table, dump

RECORD_WIDTH = 35

# On SQLite a token ends with the place of the action: so many bits.
PLACE_BITS = 48
PLACES = (1 << PLACE_BITS) - 1


def record(row: Row) -> Record:
    """The first RECORD_WIDTH columns: `_action_columns.sql` or `_history_columns.sql`."""
    value: list[Any] = list(row[:RECORD_WIDTH])
    value[0] = UUID(value[0])
    value[4] = State(value[4])
    value[14] = _maybe_uuid(value[14])
    value[21] = None if value[21] is None else Outcome(value[21])
    value[25] = _maybe_uuid(value[25])
    return to_record(*value)


def claims(found: Iterable[Row]) -> list[Claim]:
    """Rows of PostgreSQL's `claim.sql`, each after its clock and turn. No function of ours is
    called for each, so it takes a third of the time that `Claim._make` takes."""
    return [*map(_AS_CLAIM, map(_AFTER_TURN, cast("Any", found)))]


_AFTER_TURN = itemgetter(slice(2, None))
_AS_CLAIM = partial(tuple.__new__, Claim)


def numbered_claims(tokens: str, found: Iterable[Sequence[Any]]) -> list[Claim]:
    """Rows of SQLite's `due.sql`, with the tokens that `claim.sql` gives them."""
    first = int(tokens, 16) << PLACE_BITS
    return [
        Claim._make(
            (uuid_of(int(row[1].replace("-", ""), 16)), uuid_of(first | row[0] & PLACES), *row[2:])
        )
        for row in found
    ]


def stored_run(row: Row) -> StoredRun:
    value: list[Any] = list(row)
    value[0] = UUID(value[0])
    value[1] = UUID(value[1])
    value[8] = None if value[8] is None else Outcome(value[8])
    return StoredRun(*value)


def audit_entry(row: Row) -> AuditEntry:
    value: list[Any] = list(row)
    value[0] = UUID(value[0])
    value[7:] = [json.loads(text) for text in value[7:]]
    return AuditEntry(*value)


def swept(row: Row) -> Swept:
    now, lanes, leases, _, parents = cast("Any", row)[:5]
    return Swept(
        now,
        [LaneHead(lane, next_due) for lane, next_due in json.loads(lanes or "[]")],
        [expired(one) for one in json.loads(leases or "[]")],
        [UUID(one) for one in json.loads(parents or "[]")],
    )


def expired(row: Row) -> Expired:
    value = cast("Any", row)
    return Expired(uuid(value[0]), uuid(value[1]), *value[2:])


def new_rows(new: NewActions) -> Table:
    """The `:rows` of `_new_rows.sql` and `add_fresh.sql`."""
    return Table(**new_columns(new))


def new_columns(new: NewActions) -> dict[str, Sequence[Any]]:
    table = dict(new.columns)
    table["created_by"], table["after_on"] = table.pop("by"), table.pop("on")
    if new.has("after"):
        table |= unzipped(When._fields, [when(one) for one in new])
    return table


def between(new: NewActions) -> dict[str, str]:
    """Between which ids they are."""
    numbers: Any = numbers_of(new.columns["id"])
    ends = numbers if not isinstance(numbers, range) else (numbers[0], numbers[-1])
    return {"lowest": str(UUID(int=min(ends))), "highest": str(UUID(int=max(ends)))}


class When(NamedTuple):
    """Its place and time, or what it waits for: the time of a child counts from then."""

    lane: str | None = None
    due_at: int | None = None
    delay: int | None = None
    after: UUID | None = None
    after_on: str | None = None
    after_at: int | None = None
    after_delay: int | None = None


def when(new: NewAction) -> When:
    if new.after is None:
        return When(new.lane, new.due_at, new.delay or 0)
    return When(after=new.after, after_on=new.on, after_at=new.due_at, after_delay=new.delay)


def ending_params(endings: Sequence[Finish] | Sequence[Again]) -> dict[str, object]:
    """The `:rows` of `_endings.sql`, in the order of ids: all lock rows in that order; and
    between which ids they are."""
    ordered: list[Any] = sorted(endings, key=lambda one: one.id.int)
    table = unzipped(type(ordered[0])._fields, ordered)
    for name in ("job", "triggered_by", "retried"):
        table.pop(name, None)  # the row knows
    if "refund" in table:
        table["refund"] = [int(one) for one in table["refund"]]
    if not any(table["lost"]):
        del table["lost"]
    lowest, highest = str(ordered[0].id), str(ordered[-1].id)
    return {"rows": Table(**table), "lowest": lowest, "highest": highest}


def ended_params(endings: Sequence[Ending]) -> dict[str, object]:
    """The same for `ended.sql`, of all kinds, which asks for no more."""
    return {
        "rows": Table(
            id=[one.id for one in endings],
            token=[one.token for one in endings],
            outcome=[one.outcome for one in endings],
        )
    }


def lease_rows(leases: Iterable[Lease]) -> str:
    ordered = sorted(leases, key=lambda held: held.id.int)
    return dump({"held_id": held.id, "held_token": held.token} for held in ordered)


def uuid(value: UUID | str) -> UUID:
    return UUID(value) if isinstance(value, str) else value


def ids(array: str | None) -> set[UUID]:
    """An array of ids as PostgreSQL writes it, where text is all that everybody reads alike."""
    return set() if array is None else {UUID(one) for one in array[1:-1].split(",")}


def _maybe_uuid(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)
