"""Many rows as one parameter of a statement: columns by name, read as a dialect reads fastest.

PostgreSQL takes an array for each column. SQLite has none: it takes the value that stands in all
rows of a column, or a blob of cells, and JSON only for texts that differ. To read JSON took
PostgreSQL a third of the time that a completion takes, and SQLite more.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from duetime.errors import InvalidArgument
from duetime.model.column import is_empty
from duetime.model.ids import numbers_of
from duetime.model.name import UNSTORABLE, is_storable
from duetime.store.sql import cells

# What PostgreSQL shall take each column for; the others are text.
COLUMN_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("id", "token", "after"), "uuid"),
    **dict.fromkeys(
        ("due_at", "delay", "started_at", "after_at", "after_delay", "job_tick"), "bigint"
    ),
    **dict.fromkeys(("version", "refund"), "integer"),
    **dict.fromkeys(("priority", "lost"), "smallint"),
}


def type_of(column: str) -> str:
    return COLUMN_TYPES.get(column, "text")


class Table:
    """Columns of equal length. One in which nothing stands is left out: it is NULL in all rows."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self._count = max(map(len, columns.values()), default=0)
        self._columns = {n: values for n, values in columns.items() if not is_empty(values)}

    def parameters(self, parameter: str, names: Container[str]) -> dict[str, object]:
        """One for each column: as PostgreSQL writes arrays; or its value by itself, where it is
        the same in all rows and the statement, which has these `names`, asks for `:all_kind`."""
        given: dict[str, object] = {}
        for name, values in self._columns.items():
            once = f"all_{name}"
            if once in names and values.count(values[0]) == len(values):
                refuse([{name: values[0]}])
                given[once] = values[0]
            else:
                given[f"{parameter}_{name}"] = self._array(name, values)
        return given

    def cells(self, parameter: str) -> dict[str, object]:
        """A parameter for each column, as `cells.py` reads it; and one for the rows."""
        rows, columns = self._as_cells
        return {parameter: rows} | {f"{parameter}_{name}": one for name, one in columns.items()}

    @cached_property
    def _as_cells(self) -> tuple[str, dict[str, object]]:
        """Kept, since one completion is several statements."""
        columns = {name: self._cells(name, values) for name, values in self._columns.items()}
        texts = {name: self._columns[name] for name, one in columns.items() if one == b""}
        told = zip(*texts.values(), strict=True)
        rows: list[object] = [dict(zip(texts, row, strict=True)) for row in told]
        return dump(rows or [0] * self._count), columns

    def _cells(self, name: str, values: Sequence[Any]) -> object:
        column = cells.written(values, type_of(name))
        if isinstance(column, str) and not is_storable(column):
            refuse([{name: column}])
        return column

    def _array(self, name: str, values: Sequence[Any]) -> str:
        text = f"{{{WRITERS[type_of(name)](values)}}}"
        if not is_storable(text):
            refuse([{name: value} for value in values])
        return text


def _numbers(values: Sequence[int | None]) -> str:
    return str(list(values))[1:-1].replace("None", "NULL")


def _uuids(values: Sequence[UUID | None]) -> str:
    """Their digits all at once, which takes a sixth of the time of one after the other."""
    numbers = numbers_of(values)
    if None in numbers:
        return ",".join("NULL" if one is None else f"{one:032x}" for one in numbers)
    return b"".join([one.to_bytes(16) for one in numbers if one is not None]).hex(",", 16)


def _texts(values: Sequence[str | None]) -> str:
    """All at once, with NUL between them: one that holds a NUL itself is refused anyway."""
    given = [value for value in values if value is not None]
    joined = _escaped("\0".join(given))
    if len(given) < len(values) or joined.count("\0") >= len(values):
        return ",".join(["NULL" if value is None else _quoted(value) for value in values])
    return '"' + joined.replace("\0", '","') + '"'


def _quoted(value: str) -> str:
    return '"' + _escaped(value) + '"'


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value:
        return value.replace("\\", "\\\\").replace('"', '\\"')
    return value


WRITERS: Mapping[str, Callable[[Sequence[Any]], str]] = {
    "uuid": _uuids,
    "bigint": _numbers,
    "integer": _numbers,
    "smallint": _numbers,
    "text": _texts,
}


def dump(values: Iterable[object]) -> str:
    """One JSON parameter for many rows."""
    listed = list(values)
    try:
        text = to_json(listed).decode()
    except PydanticSerializationError:
        refuse(listed)
        raise
    if "\\u0000" in text:
        refuse(listed)
    return text


def refuse(values: Iterable[object]) -> None:
    """Texts that no store can keep: PostgreSQL has errors of its own for them, SQLite cuts
    a text at a NUL."""
    for value in values:
        for name, field in value.items() if isinstance(value, Mapping) else (("value", value),):
            if isinstance(field, str) and not is_storable(field):
                raise InvalidArgument(str(name), field, UNSTORABLE)
