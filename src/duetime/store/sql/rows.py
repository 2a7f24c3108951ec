"""Rows as the drivers give them, and the values of the model.

Rows are positional: the order of columns here is the order in the `.sql` files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from duetime.errors import InvalidArgument
from duetime.model.action import NewAction, Record, StoredRun
from duetime.model.audit import AuditEntry
from duetime.model.claim import Claim, Expired, LaneHead, Lease, Swept
from duetime.model.ending import Ending, Finish
from duetime.model.name import UNSTORABLE, is_storable
from duetime.model.state import Outcome, State
from duetime.store.flow import Row

RECORD_WIDTH = 35


def record(row: Row) -> Record:
    """The first RECORD_WIDTH columns: `_action_columns.sql` or `_history_columns.sql`."""
    value: list[Any] = list(row[:RECORD_WIDTH])
    value[0] = UUID(value[0])
    value[4] = State(value[4])
    value[14] = _maybe_uuid(value[14])
    value[21] = None if value[21] is None else Outcome(value[21])
    value[25] = _maybe_uuid(value[25])
    return Record(*value)


def claim(row: Row) -> Claim:
    """A row of `claim.sql` after its clock and turn."""
    value = cast("Any", row)
    if isinstance(value[2], UUID):
        return Claim._make(value[2:])
    return Claim(UUID(value[2]), UUID(value[3]), *value[4:])


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


def new_rows(new: Iterable[NewAction]) -> str:
    """The `:rows` of `_new_rows.sql`."""
    return dump(
        {
            "position": position,
            "id": one.id,
            "kind": one.kind,
            "version": one.version,
            "payload": one.payload,
            "queue": one.queue,
            "priority": one.priority,
            "tenant": one.tenant,
            "correlation_id": one.correlation_id,
            "key": one.key,
            "created_by": one.by,
            **when(one),
        }
        for position, one in enumerate(new)
    )


def when(new: NewAction) -> dict[str, object]:
    """Its place and time, or what it waits for: the time of a child counts from then."""
    if new.after is None:
        return {"lane": new.lane, "due_at": new.due_at, "delay": new.delay or 0}
    return {
        "after": str(new.after),
        "after_on": new.on,
        "after_at": new.due_at,
        "after_delay": new.delay,
    }


def ending_params(endings: Iterable[Ending]) -> dict[str, object]:
    """The `:rows` of `_endings.sql`, in the order of ids: all lock rows in that order; and
    between which ids they are.

    What is not there is NULL or 0. Most endings are plain, and the database spends more on
    reading this text than on anything else but the rows themselves.
    """
    ordered = sorted(endings, key=lambda one: one.id.int)
    text = dump([_ending(one) for one in ordered])
    return {"rows": text, "lowest": str(ordered[0].id), "highest": str(ordered[-1].id)}


def _ending(one: Ending) -> dict[str, object]:
    row: dict[str, object] = {"id": one.id, "token": one.token, "outcome": one.outcome}
    if isinstance(one, Finish):
        row["state"] = one.state
        if one.cancelled_by is not None:
            row["cancelled_by"] = one.cancelled_by
    else:
        row |= {"lane": one.lane, "delay": one.delay, "refund": int(one.refund)}
    if one.result is not None:
        row["result"] = one.result
    if one.error is not None:
        row["error"] = one.error
    if one.started_at is not None:
        row["started_at"] = one.started_at
    if one.lost:
        row["lost"] = one.lost
    return row


def lease_rows(leases: Iterable[Lease]) -> str:
    ordered = sorted(leases, key=lambda held: held.id.int)
    return dump({"held_id": held.id, "held_token": held.token} for held in ordered)


def dump(values: Iterable[object]) -> str:
    """One JSON parameter for many rows."""
    listed = list(values)
    try:
        text = to_json(listed).decode()
    except PydanticSerializationError:
        _refuse(listed)
        raise
    if "\\u0000" in text:
        _refuse(listed)
    return text


def _refuse(values: Iterable[object]) -> None:
    """Texts that no store can keep: PostgreSQL has errors of its own for them, SQLite cuts
    a text at a NUL."""
    for value in values:
        for name, field in value.items() if isinstance(value, Mapping) else (("value", value),):
            if isinstance(field, str) and not is_storable(field):
                raise InvalidArgument(str(name), field, UNSTORABLE)


def uuid(value: UUID | str) -> UUID:
    return UUID(value) if isinstance(value, str) else value


def _maybe_uuid(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)
