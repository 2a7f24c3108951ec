"""JSON of what handlers return and report, within a bound that holds while it is made: a result may
be endless, or name the same part a billion times."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from duetime.model.payloads.codec import to_json

# Pydantic writes little deeper. Each level takes three calls here, of which Python allows 1,000.
MAX_RESULT_DEPTH = 235
MAX_SMALL_LENGTH = 20
SCALARS = frozenset({str, int, float, bool, type(None)})


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
    lists of what they yielded. What it does not know counts little, and is left to pydantic."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Every value counts a comma, also the outermost.
        self._left = limit + 1

    def read(self, value: Any, depth: int) -> Any:
        """Return the value; a copy with lists if there is an iterator in it."""
        kind = type(value)
        # A comma, and one character more; for containers a bracket, since the first has no comma.
        self._count(2)
        if kind in SCALARS or kind is bytes:
            self._count_text(value, kind)
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
                return value

    def _read_mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        self._count(sum(len(key) + 3 for key in value if type(key) is str))
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
        parts = dict(vars(value))
        read = self._read_mapping(parts, depth)
        return value if read is parts else value.model_copy(update=read)

    def _count_text(self, value: Any, kind: type) -> None:
        if kind is str or kind is bytes:
            self._count(len(value))
        elif kind is int:
            self._count(value.bit_length() // 4)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLarge(self._limit)


def _differ(parts: Collection[object], value: Collection[object]) -> bool:
    return parts is not value and any(
        part is not before for part, before in zip(parts, value, strict=True)
    )
