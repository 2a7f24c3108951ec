"""Values as a SQLite file holds them: any column may hold a value of any type.

A value is damaged if its column's type cannot be read from it. It was written by other
means: duetime sends each column its own type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any
from uuid import UUID

from duetime.errors import shown
from duetime.model.ids import NewId
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.store.sql.sqlite.known_columns import Column

# What columns get that must have a value; other numbers get 0.
USUAL_VALUES = {"priority": Priority.normal.rank, "version": 1, "state": State.failed.value}
# Rows that are read at once hold about this much at most.
WINDOW_BYTES = 8_000_000
INTEGER_LIMIT = 2.0**63


class StoredText(bytes):
    """A text as it is stored, which may be no UTF-8; a blob is read as plain bytes."""


# Statements of which no text that is no UTF-8 may fail the others: it comes with lone surrogates,
# which no text of ours has.
LENIENT_STATEMENTS = frozenset(
    (
        *("grants", "grants_lock", "grants_lock_id"),
        *("api_keys", "api_keys_lock", "api_keys_use", "sessions_use", "sessions_end"),
        *("answers_find", "bulk_lock", "report", "figures_largest"),
    )
)


@dataclass(frozen=True, slots=True)
class RepairedRow:
    """A row in which every damaged value is replaced by the nearest that can be read.

    `damage` says of each such column what it held; `lost` are those of which nothing but this
    message tells the meaning.
    """

    values: Mapping[str, object]
    damage: Mapping[str, str]
    lost: frozenset[str]

    def description(self) -> str:
        return "; ".join(f"{name} holds {held}" for name, held in self.damage.items())


Params = Mapping[str, object] | tuple[object, ...]


def read_leniently(connection: Connection, text: str, params: Params) -> list[tuple[Any, ...]]:
    """Return the rows of one of LENIENT_STATEMENTS."""
    connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
    try:
        return connection.execute(text, params).fetchall()
    finally:
        connection.text_factory = str


def read_stored(connection: Connection, text: str, params: Params) -> list[tuple[Any, ...]]:
    """Return the first rows of a query, with texts as they are stored: to decode them may be what
    fails. Stops once the rows have WINDOW_BYTES."""
    connection.text_factory = StoredText
    rows = []
    size = 0
    try:
        with closing(connection.execute(text, params)) as cursor:
            for row in cursor:
                rows.append(row)
                size += sum(len(value) for value in row if isinstance(value, bytes))
                if size > WINDOW_BYTES:
                    break
    finally:
        connection.text_factory = str
    return rows


def repair(
    columns: Sequence[Column], stored: Sequence[object], now: int, new_id: NewId
) -> RepairedRow:
    """Return the row with readable values. A required column that holds nothing readable gets a
    usual value: a new id, the time `now`."""
    values: dict[str, object] = {}
    damage: dict[str, str] = {}
    lost: set[str] = set()
    for column, value in zip(columns, stored, strict=True):
        try:
            values[column.name] = _read(column, value)
        except ValueError:
            damage[column.name] = shown(_plain(value))
            nearest = _nearest(column, value)
            if not isinstance(nearest, int):
                lost.add(column.name)
            usual = nearest is None and column.required
            values[column.name] = _usual(column, now, new_id) if usual else nearest
    return RepairedRow(values, damage, frozenset(lost))


def _read(column: Column, value: object) -> object:
    """Return the value of a column. ValueError if it is none of the column's type."""
    if value is None:
        return None
    if column.integer:
        if isinstance(value, int):
            return value
        raise ValueError
    if not isinstance(value, StoredText):
        raise ValueError
    text = value.decode()
    if column.uuid:
        UUID(text)
    return text


def _nearest(column: Column, value: object) -> int | str | None:
    if column.integer:
        # A calculation in SQL leaves a fraction, as in `due_at = due_at * 1.1`.
        if isinstance(value, float) and -INTEGER_LIMIT <= value < INTEGER_LIMIT:
            return round(value)
        return None
    if column.uuid or column.name == "state":
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    return None


def _usual(column: Column, now: int, new_id: NewId) -> object:
    if column.uuid:
        return str(new_id())
    if column.name.endswith("_at"):
        return now
    return USUAL_VALUES.get(column.name, 0)


def _plain(value: object) -> object:
    """Return the value for a message: texts as such, as far as they can be read."""
    if isinstance(value, StoredText):
        return value.decode("utf-8", "backslashreplace")
    return value
