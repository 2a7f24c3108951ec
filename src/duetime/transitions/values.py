"""Values: check that a value fits the column that it is written to or compared with."""

from __future__ import annotations

import enum
import typing
from typing import Any, Literal, get_args, get_origin

from sqlalchemy import Boolean, Column, Enum, Integer, String, TypeDecorator
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.orm import Mapper

from duetime.errors import did_you_mean, shown


class ValueMismatch(ValueError):
    """A value does not fit its column; the message says why, and what would fit."""


def coerce_value(column: Column[Any], value: object) -> object:
    """Return the value as the column's attribute has it. An Enum member may be given by its name
    or by its value. Raises ValueMismatch."""
    if value is None:
        if column.nullable:
            return None
        raise ValueMismatch("the column is NOT NULL: give a value, or make it nullable")
    if isinstance(column.type, Enum):
        return _enum_member(column.type, value)
    if isinstance(column.type, TypeDecorator):
        return _coerce_decorated(column.type, value)
    _check_type(column, value)
    return value


def _coerce_decorated(type_: TypeDecorator[Any], value: object) -> object:
    """Check that the result of a TypeDecorator's conversion fits the type that it decorates."""
    bound = value
    converts = type(type_).process_bind_param is not TypeDecorator.process_bind_param
    if converts:
        try:
            bound = type_.process_bind_param(value, DefaultDialect())
        except Exception as error:
            raise ValueMismatch(f"{type(type_).__name__} rejected it: {error}") from error
    impl = type_.impl_instance
    member = _enum_member(impl, bound) if isinstance(impl, Enum) else value
    return value if converts else member


def _enum_member(type_: Enum, value: object) -> object:
    allowed = [str(name) for name in type_.enums]
    class_: type[enum.Enum] | None = type_.enum_class
    if class_ is None:
        if value in type_.enums:
            return value
    elif isinstance(value, class_):
        return value
    else:
        for member in class_:
            if value in (member.name, member.value):
                return member
    raise ValueMismatch(f"not one of {', '.join(allowed)}{did_you_mean(str(value), allowed)}")


def _check_type(column: Column[Any], value: object) -> None:
    try:
        expected = column.type.python_type
    except NotImplementedError:
        return  # the type does not say
    mixed = isinstance(value, bool) and not isinstance(column.type, Boolean | Integer)
    if mixed or not isinstance(value, expected | int if expected is float else expected):
        raise ValueMismatch(f"the column is {column.type!r}: give a {expected.__name__}")
    length = column.type.length if isinstance(column.type, String) else None
    if isinstance(value, str) and length is not None and len(value) > length:
        raise ValueMismatch(f"it has {len(value)} characters, but the column holds {length}")


def check_annotation(mapper: Mapper[Any], field: Column[Any], value: object) -> None:
    """Raise ValueMismatch if the attribute's annotation, such as a Literal, excludes the value."""
    if isinstance(field.type, Enum | TypeDecorator):
        return
    attribute = mapper.get_property_by_column(field).key
    allowed = _allowed_values(mapper.class_, attribute)
    if allowed and value is not None and value not in allowed:
        words = [str(allowed_value) for allowed_value in allowed]
        raise ValueMismatch(
            f"the annotation allows {', '.join(map(shown, allowed))} only"
            f"{did_you_mean(str(value), words)}"
        )


def _allowed_values(class_: type[Any], attribute: str) -> list[object]:
    try:
        hint = typing.get_type_hints(class_).get(attribute)
    except Exception:  # noqa: BLE001 - names that only a type checker knows, or unknown names
        return []
    return _values_in_hint(hint)


def _values_in_hint(hint: Any) -> list[object]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [member.value for member in hint]
    return [value for inner in get_args(hint) for value in _values_in_hint(inner)]
