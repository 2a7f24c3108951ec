"""A page of actions, as a store finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from duetime.model.actions.action import Record
from duetime.model.filter import Position, Sort

# The most rows that a store examines for a page.
MAX_EXAMINED = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """Actions in order, and the position after which the next page begins; None at the end.
    Iterates over its actions."""

    records: Sequence[Record]
    next: Position | None = None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def position_of(record: Record, sort: Sort) -> Position | None:
    """Return where an action stands in this order; None if it is not in it."""
    value = {
        "created_at": 0,
        "due_at": None if record.state.finished else record.due_at,
        "finished_at": record.finished_at,
    }[sort.by]
    return None if value is None else Position(value, record.id)
