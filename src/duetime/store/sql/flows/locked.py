"""Actions that a transaction has locked, and the states that a verb requires of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from duetime.errors import IllegalState
from duetime.model.actions.action import Record
from duetime.model.state import State
from duetime.store.flow import Rows
from duetime.store.sql.flows import records


@dataclass(frozen=True, slots=True)
class LockedAction:
    """An action locked against other writers until commit, and the store's clock."""

    record: Record
    now: int
    lane: str | None
    stop_by: str | None


def locked_actions(found: Rows) -> list[LockedAction]:
    return [
        LockedAction(records.record(row), *cast("Any", row)[records.RECORD_WIDTH :])
        for row in found
    ]


def require_state(verb: str, record: Record, allowed: Sequence[State]) -> None:
    if record.state not in allowed:
        raise IllegalState(verb, record.id, record.state, allowed)
