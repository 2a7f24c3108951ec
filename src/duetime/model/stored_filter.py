"""A filter as JSON: a bulk keeps it from its first call on, and its audit entry shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import Scope

# What belongs to a page or to the caller, not to the actions that are wanted.
_NOT_CRITERIA = frozenset({"tenant", "sort", "follows", "limit"})


def filter_data(wanted: Filter) -> dict[str, object]:
    """Return the criteria of a filter that are given, as JSON has them."""
    names = (field.name for field in fields(wanted) if field.name not in _NOT_CRITERIA)
    given = ((name, getattr(wanted, name)) for name in names)
    return {name: _json(value) for name, value in given if value not in (None, ())}


def _json(value: object) -> object:
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return str(value) if isinstance(value, UUID) else value


def filter_of(data: Mapping[str, Any], tenant: Scope) -> Filter:
    """Return the filter that was stored."""
    read = {name: _READERS.get(name, _unchanged)(value) for name, value in data.items()}
    return Filter(**read, tenant=tenant)


def _unchanged(value: Any) -> Any:
    return value


# The fields that JSON has no type for.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "states": lambda names: tuple(map(State, names)),
    "kinds": tuple,
    "after": UUID,
}
