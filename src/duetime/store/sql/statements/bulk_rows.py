"""Many rows as one parameter of a statement: columns by name, read as a dialect reads fastest.

PostgreSQL takes the value that stands in all rows of a column, or an array (`arrays.py`). SQLite
has none: it takes such a value, or a blob of cells (`cells.py`), and JSON for texts that differ. To
read JSON took PostgreSQL a third of the time that a completion takes, and SQLite more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from duetime.errors import InvalidArgument
from duetime.model.columns import is_empty
from duetime.model.validation import UNSTORABLE, is_storable
from duetime.store.sql.statements import pg_columns as arrays
from duetime.store.sql.statements import sqlite_columns as cells
from duetime.store.sql.statements.pg_columns import Binary

# What stands in each column; in the others it is text.
COLUMN_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("id", "token", "after"), "uuid"),
    **dict.fromkeys(
        ("due_at", "delay", "started_at", "after_at", "after_delay", "job_tick"), "bigint"
    ),
    **dict.fromkeys(("version", "refund"), "integer"),
    **dict.fromkeys(("priority", "lost"), "smallint"),
    # Stored as text, and sent as only JSON can be: see `arrays.py`.
    "payload": "json",
}


# Always arrays: ids tell how many rows there are, payloads are mostly long or different, and to
# compare either takes longer than it could save.
APART = ("uuid", "json")


def type_of(column: str) -> str:
    return COLUMN_TYPES.get(column, "text")


class Table:
    """Columns of equal length. One in which nothing stands is left out: it is NULL in all rows."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self._count = max(map(len, columns.values()), default=0)
        self._columns = {n: values for n, values in columns.items() if not is_empty(values)}

    @cached_property
    def differing(self) -> frozenset[str]:
        """The columns in which rows differ, and those of ids and payloads, in which they should."""
        return frozenset(
            name
            for name, values in self._columns.items()
            if type_of(name) in APART or values.count(values[0]) < len(values)
        )

    def arrays(self, parameter: str, *, foreign: bool) -> dict[str, object]:
        """A parameter for each column in which rows differ, as `arrays.py` reads it. Of the others,
        their value by itself: what is the same in all rows is `all_kind`."""
        given: dict[str, object] = {}
        for name, values in self._columns.items():
            if name in self.differing:
                given[f"{parameter}_{name}"] = self._array(name, values, foreign)
            else:
                refuse([{name: values[0]}])
                given[f"all_{name}"] = values[0]
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

    def _array(self, name: str, values: Sequence[Any], foreign: bool) -> str | Binary:
        column = arrays.written(values, type_of(name), foreign=foreign)
        if isinstance(column, str) and not is_storable(column):
            refuse([{name: value} for value in values])
        return column


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
