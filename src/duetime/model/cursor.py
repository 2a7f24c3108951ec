"""The cursor of the next page of `find`: a position, sealed with the filter it belongs to."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from duetime.model.filter import Filter, Position
from duetime.model.page_cursor import seal, unseal

VALUE_LENGTH = 9


def to_cursor(position: Position, wanted: Filter) -> str:
    value = position.value.to_bytes(VALUE_LENGTH, "big", signed=True)
    return seal(value + position.id.bytes, _criteria(wanted))


def from_cursor(cursor: str, wanted: Filter) -> Position:
    """Return where the page before it ended. InvalidArgument if the cursor was changed, or belongs
    to a page of another filter."""
    data = unseal(cursor, _criteria(wanted))
    value = int.from_bytes(data[:VALUE_LENGTH], "big", signed=True)
    return Position(value, UUID(bytes=data[VALUE_LENGTH:]))


def _criteria(wanted: Filter) -> Filter:
    return replace(wanted, follows=None, limit=0)
