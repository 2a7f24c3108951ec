"""Values as a SQLite file holds them: any column may hold a value of any type.

A value is damaged if its column's type cannot be read from it. It was written by other
means: duetime sends each column its own type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from sqlite3 import Connection
from uuid import UUID

from duetime.errors import shown
from duetime.model.ids import NewId
from duetime.model.lane import Priority
from duetime.model.state import Outcome

# Columns whose text has a form of its own.
UUID_COLUMNS = frozenset({"id", "token", "after", "action_id"})
LIST_COLUMNS = frozenset({"kinds", "queues", "jobs"})
OUTCOMES = frozenset(Outcome)
# Numbers for columns that must have one; others get 0.
USUAL_NUMBERS = {"priority": Priority.normal.rank, "version": 1}


class StoredText(bytes):
    """A text as it is stored, which may be no UTF-8; a blob is read as plain bytes."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, by its definition."""

    name: str
    integer: bool
    required: bool


@dataclass(frozen=True, slots=True)
class RepairedRow:
    """A row in which every damaged value is replaced by the nearest that can be read; `damage` says
    what those columns held."""

    values: Mapping[str, object]
    damage: Sequence[str]


@contextmanager
def stored_texts(connection: Connection) -> Iterator[None]:
    """Read texts as they are stored: to decode them may be what fails."""
    connection.text_factory = StoredText
    try:
        yield
    finally:
        connection.text_factory = str


def repair(
    columns: Sequence[Column], stored: Sequence[object], now: int, new_id: NewId
) -> RepairedRow:
    """Return the row with readable values. A required column that holds nothing readable gets a
    usual value: a new id, the time `now`."""
    values: dict[str, object] = {}
    damage: list[str] = []
    for column, value in zip(columns, stored, strict=True):
        try:
            values[column.name] = _read(column, value)
        except ValueError:
            values[column.name] = _nearest(column, value)
            if values[column.name] is None and column.required:
                values[column.name] = _usual(column, now, new_id)
            damage.append(f"{column.name} holds {shown(_plain(value))}")
    return RepairedRow(values, damage)


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
    if column.name in UUID_COLUMNS:
        UUID(text)
    elif column.name in LIST_COLUMNS:
        _read_list(text)
    elif column.name == "outcome" and text not in OUTCOMES:
        raise ValueError
    return text


def _read_list(text: str) -> None:
    try:
        items = json.loads(text)
    except RecursionError as error:
        raise ValueError from error
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError


def _nearest(column: Column, value: object) -> str | None:
    formed = column.name in UUID_COLUMNS or column.name == "outcome"
    if isinstance(value, bytes) and not column.integer and not formed:
        return value.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    return None


def _usual(column: Column, now: int, new_id: NewId) -> object:
    if column.name in UUID_COLUMNS:
        return str(new_id())
    if column.name.endswith("_at"):
        return now
    return USUAL_NUMBERS.get(column.name, 0)


def _plain(value: object) -> object:
    """Return the value for a message: texts as such, as far as they can be read."""
    if isinstance(value, StoredText):
        return value.decode("utf-8", "backslashreplace")
    return value
