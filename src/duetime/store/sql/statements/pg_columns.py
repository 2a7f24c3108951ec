"""A column of many rows as PostgreSQL reads it fastest: see `table.py`.

Ids and instants are arrays in the form in which the server sends them itself: sixteen bytes take
it a fifth of the time that it needs to read an id's digits. Payloads are joined by a character that
JSON never holds, since to mark what stands in quotes, and to read it again, goes letter by letter.
The others are arrays in text, and on a connection of the caller's all are: its driver, or its user,
may have ideas of its own about bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.ids import numbers_of

BETWEEN = "\x1f"


class Binary(bytes):
    """An array in the server's own form. Drivers know it by its class, and the server by the
    numbers that it has for the array and for what it is one of."""


class Uuids(Binary):
    oid, of = 2951, 2950


class Bigints(Binary):
    oid, of = 1016, 20


def reading(parameter: str, type_: str, *, foreign: bool) -> str:
    """A column, for a statement that unnests it."""
    if type_ == "json":
        return f"string_to_array(CAST({parameter} AS text), chr({ord(BETWEEN)}))"
    given = f"CAST({parameter} AS text)" if foreign else parameter
    return f"CAST({given} AS {type_}[])"


def written(values: Sequence[Any], type_: str, *, foreign: bool) -> str | Binary:
    """The parameter for a column."""
    if type_ == "json":
        return _joined(values)
    binary = None if foreign or type_ not in BINARY else BINARY[type_](values)
    return f"{{{WRITERS[type_](values)}}}" if binary is None else binary


def _joined(values: Sequence[str]) -> str:
    joined = BETWEEN.join(values)
    if joined.count(BETWEEN) >= len(values):
        odd = next(value for value in values if BETWEEN in value)
        raise InvalidArgument("payload", odd, "write control characters in JSON as \\u001f")
    return joined


# -- in the server's form, where all rows have a value --------------------------------


def _binary_uuids(values: Sequence[UUID | None]) -> Uuids | None:
    numbers = numbers_of(values)
    # To look for None in a range takes as long as to write all of it.
    if not isinstance(numbers, range) and None in numbers:
        return None
    width = struct.pack("!i", 16)
    cells = width.join([one.to_bytes(16) for one in numbers if one is not None])
    return Uuids(_header(Uuids.of, len(numbers)) + width + cells)


def _binary_bigints(values: Sequence[int | None]) -> Bigints | None:
    if None in values:
        return None
    cells: list[int | None] = [8] * (2 * len(values))
    cells[1::2] = values
    try:
        return Bigints(
            _header(Bigints.of, len(values)) + struct.pack("!" + "iq" * len(values), *cells)
        )
    except struct.error:
        return None  # too large: the server says so of what it reads


def _header(of: int, count: int) -> bytes:
    """One dimension, no NULL, of that type, so many, counted from one."""
    return struct.pack("!5i", 1, 0, of, count, 1)


BINARY: Mapping[str, Callable[[Sequence[Any]], Binary | None]] = {
    "uuid": _binary_uuids,
    "bigint": _binary_bigints,
}

# -- as text ---------------------------------------------------------------------------


def _numbers(values: Sequence[int | None]) -> str:
    return str(list(values))[1:-1].replace("None", "NULL")


def _uuids(values: Sequence[UUID | None]) -> str:
    return ",".join(["NULL" if one is None else f"{one:032x}" for one in numbers_of(values)])


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
