"""Reads the values of verbs from the documents of the API, whose fields have their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

T = TypeVar("T")

# Fields that a caller may not be allowed to see, and what stands in their place.
HIDDEN_FIELDS: Mapping[str, object] = {
    **dict.fromkeys(("payload", "result", "progress", "traceback", "address")),
    "created": False,
    "workers": (),
    "ticks": (),
    "ticks_capped": False,
}


class MalformedDocument(ValueError):
    """A document is not what this version expects of the API."""


def read(type_: type[T], document: Any) -> T:
    """Return the value of a dataclass that a document describes. Fields that this version does not
    know are left out."""
    if not isinstance(document, Mapping):
        raise MalformedDocument(f"{type_.__name__} is no object")
    values = {
        name: _value(hint, document[name])
        for name, hint in _hints(cast("Any", type_)).items()
        if name in document
    }
    return type_(**_absent(type_, values), **values)


def _absent(type_: type[Any], values: Mapping[str, object]) -> dict[str, object]:
    """Return values for the fields that the document lacks and that have no default."""
    lacking = [
        field.name
        for field in fields(type_)
        if field.name not in values
        and field.default is MISSING
        and field.default_factory is MISSING
    ]
    unknown = [name for name in lacking if name not in HIDDEN_FIELDS]
    if unknown:
        raise MalformedDocument(f"{type_.__name__} has no {', '.join(unknown)}")
    return {name: HIDDEN_FIELDS[name] for name in lacking}


@cache
def _hints(type_: type[Any]) -> Mapping[str, Any]:
    hints = get_type_hints(type_)
    return {field.name: hints[field.name] for field in fields(type_) if field.init}


def _value(hint: Any, value: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in (Any, object) or isinstance(hint, TypeVar) or origin is Literal:
        return value
    if origin in (Union, UnionType):
        return _optional(arguments, value)
    if origin in (list, tuple, Sequence):
        return _sequence(origin, arguments[0], value)
    if origin in (dict, Mapping):
        return {key: _value(arguments[1], item) for key, item in _checked(dict, value).items()}
    return _plain(hint, value)


def _optional(arguments: Sequence[Any], value: Any) -> Any:
    [inner] = [each for each in arguments if each is not NoneType]
    return None if value is None else _value(inner, value)


def _sequence(origin: Any, item: Any, value: Any) -> Any:
    read_items = (_value(item, each) for each in _checked(list, value))
    return tuple(read_items) if origin is tuple else list(read_items)


def _plain(type_: Any, value: Any) -> Any:
    if is_dataclass(type_):
        return read(type_, value)  # type: ignore[arg-type]
    if type_ is datetime:
        return to_instant(value)
    if type_ is timedelta:
        return timedelta(seconds=_checked((int, float), value))
    if type_ is UUID or issubclass(type_, Enum):
        return type_(_checked(str, value))
    return float(_checked((int, float), value)) if type_ is float else _checked(type_, value)


def to_instant(value: Any) -> datetime:
    return datetime.fromisoformat(_checked(str, value)).astimezone(UTC)


def _checked(type_: Any, value: Any) -> Any:
    if not isinstance(value, type_):
        raise MalformedDocument(f"{type(value).__name__} stands where another type belongs")
    return value
