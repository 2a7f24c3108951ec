"""Encodes a column of `BulkRows` as the parameter that SQLite reads fastest.

- If all rows have the same value, the parameter is that value.
- If ids or numbers vary, it is a blob of fixed-width cells: a cell is found by its position,
  without reading the cells before it. A cell of zero bytes is NULL.
- If texts vary, it is an empty blob, and the texts are in the JSON of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic_core import to_json

TEXT_TYPES = ("text", "json")
UUID_WIDTH = 36
NUMBER_WIDTH = 20  # digits and sign of -2**63


def read_expression(parameter: str, name: str, type_: str) -> str:
    """Return SQL that reads a row's value, for a statement that iterates `json_each(:rows)`."""
    cell = _cell_expression(parameter, name, type_)
    return f"CASE typeof({parameter}) WHEN 'blob' THEN {cell} ELSE {parameter} END"


def _cell_expression(parameter: str, name: str, type_: str) -> str:
    if type_ in TEXT_TYPES:
        return f"value ->> '{name}'"
    width, sql_type = (UUID_WIDTH, "text") if type_ == "uuid" else (NUMBER_WIDTH, "integer")
    cell = f"substr({parameter}, key * {width} + 1, {width})"
    return f"CAST(nullif({cell}, zeroblob({width})) AS {sql_type})"


def encode_column(values: Sequence[Any], type_: str) -> object:
    """Return the parameter for a column."""
    if type_ == "uuid":
        return _uuid_cells(values)
    if values.count(values[0]) == len(values):
        return values[0]
    return b"" if type_ in TEXT_TYPES else _number_cells(values)


def _uuid_cells(values: Sequence[UUID | None]) -> bytes:
    """Encode all ids in one call, which takes a third of the time of encoding each."""
    ids = list(values)
    if None not in ids:
        return to_json(ids)[2:-2].replace(b'","', b"")
    empty = bytes(UUID_WIDTH)
    return b"".join([empty if id_ is None else str(id_).encode() for id_ in ids])


def _number_cells(values: Sequence[int | None]) -> bytes:
    empty = bytes(NUMBER_WIDTH)
    return b"".join([empty if number is None else b"%020d" % number for number in values])
