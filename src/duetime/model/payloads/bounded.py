"""JSON of what handlers return and report, within a bound that holds while it is made: a result may
be endless, or name the same part a billion times."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

import pydantic_core
from pydantic_core import PydanticSerializationError, to_jsonable_python

from duetime.model.payloads.codec import to_json

# Pydantic writes little deeper. Each level takes three calls here, of which Python allows 1,000.
MAX_RESULT_DEPTH = 235
MAX_SMALL_LENGTH = 20
SCALARS = frozenset({str, int, float, bool, type(None)})
# Never long, whatever they hold.
SHORT = frozenset({float, bool, type(None), date, datetime, time, timedelta, UUID})


class TooLarge(ValueError):
    """The JSON of a value would exceed the limit."""

    def __init__(self, limit: int, size: int | None = None) -> None:
        found = f"more than {limit:,}" if size is None else f"{size:,}"
        super().__init__(
            f"has {found} bytes of JSON, {limit:,} are allowed; store the data elsewhere, or "
            "increase max_payload"
        )


def bounded_json(value: object, limit: int) -> str:
    """Return a value as JSON of at most `limit` bytes. Raises TooLarge, or whatever reading the
    value raises."""
    if not _is_small(value):
        value = BoundedReader(limit).read(value, 0)
    text = to_json(to_jsonable_python(value))
    size = len(text) if text.isascii() else len(text.encode())
    if size > limit:
        raise TooLarge(limit, size)
    return text


def _is_small(value: Any) -> bool:
    """Return whether a value surely has few parts, as most have: reading each of them is slow."""
    kind = type(value)
    if kind in SCALARS:
        return True
    if kind is not dict and kind is not list:
        return False
    parts = value.values() if kind is dict else value
    return len(parts) <= MAX_SMALL_LENGTH and SCALARS.issuperset(map(type, parts))


class BoundedReader:
    """Reads a value up to a number of bytes that its JSON surely has, and replaces iterators by
    lists of what they yielded. What it does not know is written alone, to be counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Every value counts a comma, also the outermost.
        self._left = limit + 1

    def read(self, value: Any, depth: int) -> Any:
        """Return the value; a copy with lists if there is an iterator in it."""
        if isinstance(value, Enum):
            read = self.read(value.value, depth)
            return value if read is value.value else read
        # A comma, and one character more; for containers a bracket, since the first has no comma.
        self._count(2)
        if type(value) in SHORT:
            return value
        size = _known_size(value)
        if size is not None:
            self._count(size)
            return value
        if depth > MAX_RESULT_DEPTH:
            raise ValueError(
                f"it is nested deeper than {MAX_RESULT_DEPTH} levels, or contains itself"
            )
        return self._read_parts(value, depth + 1)

    def _read_parts(self, value: Any, depth: int) -> Any:
        match value:
            case dict():
                return self._read_mapping(value, depth)
            case list() | tuple() | set() | frozenset() | deque():
                parts = self._read_all(value, depth)
                return parts if _differ(parts, value) else value
            case Iterator():
                return [self.read(part, depth) for part in value]
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._read_dataclass(value, depth)
            case _ if hasattr(type(value), "__pydantic_serializer__"):
                return self._read_model(value, depth)
            case _:
                self._count(_size_alone(value, counted=2))
                return value

    def _read_mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        if {*map(type, value)} <= {str}:
            self._count(sum(map(len, value)) + 3 * len(value))
        else:
            for key in value:
                self._count(_key_size(key))
        parts = self._read_all(value.values(), depth)
        changed = _differ(parts, value.values())
        return dict(zip(value, parts, strict=True)) if changed else value

    def _read_all(self, values: Collection[Any], depth: int) -> Collection[Any]:
        """Return the parts of a container; the container itself if all are plain, as in most."""
        kinds = {*map(type, values)}
        if not kinds <= SCALARS:
            return [self.read(part, depth) for part in values]
        self._count(2 * len(values))
        if str in kinds:
            self._count(sum(len(part) for part in values if type(part) is str))
        if int in kinds:
            self._count(sum(part.bit_length() // 4 for part in values if type(part) is int))
        return values

    def _read_dataclass(self, value: Any, depth: int) -> Any:
        parts = {f.name: getattr(value, f.name) for f in fields(value) if hasattr(value, f.name)}
        read = self._read_mapping(parts, depth)
        return value if read is parts else read

    def _read_model(self, value: Any, depth: int) -> Any:
        parts = vars(value) | (getattr(value, "__pydantic_extra__", None) or {})
        read = self._read_mapping(parts, depth)
        return value if read is parts else value.model_copy(update=read)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLarge(self._limit)


def _known_size(value: object) -> int | None:
    """Return how many bytes a text or a number takes at least. Its own type may override `len`."""
    if isinstance(value, str):
        return str.__len__(value)
    if isinstance(value, bytes):
        return bytes.__len__(value)
    if isinstance(value, bytearray):
        return bytearray.__len__(value)
    return int.bit_length(value) // 4 if isinstance(value, int) else None


def _key_size(key: object) -> int:
    """Return how many bytes the key of a dict takes at least, with its quotes and colon."""
    size = _known_size(key.value if isinstance(key, Enum) else key)
    return _size_alone({key: None}, counted=len("{null}")) if size is None else size + 3


def _size_alone(value: object, counted: int) -> int:
    """Return how many bytes the JSON of a value takes beside those counted already; 0 if pydantic
    cannot write it alone."""
    try:
        return max(0, len(pydantic_core.to_json(value)) - counted)
    except PydanticSerializationError:
        # A model around it may know how to write it; if not, writing the whole raises the error.
        return 0


def _differ(parts: Collection[object], value: Collection[object]) -> bool:
    return parts is not value and any(
        part is not before for part, before in zip(parts, value, strict=True)
    )
