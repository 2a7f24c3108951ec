"""Values: whether one fits the column that it is to be set to, or compared with."""

from __future__ import annotations

import enum
import typing
from typing import Any, Literal, get_args, get_origin

from sqlalchemy import Boolean, Column, Enum, Integer, String, TypeDecorator
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.orm import Mapper

from duetime.errors import did_you_mean, shown


class Misfit(ValueError):
    """Why a value does not fit, and what would."""


def fitted(column: Column[Any], value: object) -> object:
    """The value as the column's attribute has it. An Enum's member may be given by its name, or
    by its value."""
    if value is None:
        if column.nullable:
            return None
        raise Misfit("the column is NOT NULL: give a value, or make it nullable")
    if isinstance(column.type, Enum):
        return _member(column.type, value)
    if isinstance(column.type, TypeDecorator):
        return _decorated(column.type, value)
    _check_type(column, value)
    return value


def _decorated(type_: TypeDecorator[Any], value: object) -> object:
    """What a type of the user's own makes of it must fit the type that it decorates."""
    bound = value
    converts = type(type_).process_bind_param is not TypeDecorator.process_bind_param
    if converts:
        try:
            bound = type_.process_bind_param(value, DefaultDialect())
        except Exception as error:
            raise Misfit(f"{type(type_).__name__} refuses it, {error}") from error
    impl = type_.impl_instance
    member = _member(impl, bound) if isinstance(impl, Enum) else value
    return value if converts else member


def _member(type_: Enum, value: object) -> object:
    allowed = [str(one) for one in type_.enums]
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
    raise Misfit(f"it is none of {', '.join(allowed)}{did_you_mean(str(value), allowed)}")


def _check_type(column: Column[Any], value: object) -> None:
    try:
        wanted = column.type.python_type
    except NotImplementedError:
        return  # a type that does not tell
    mixed = isinstance(value, bool) and not isinstance(column.type, Boolean | Integer)
    if mixed or not isinstance(value, wanted | int if wanted is float else wanted):
        raise Misfit(f"the column is {column.type!r}: give a {wanted.__name__}")
    length = column.type.length if isinstance(column.type, String) else None
    if isinstance(value, str) and length is not None and len(value) > length:
        raise Misfit(f"it has {len(value)} characters, and the column holds {length}")


def check_literal(mapper: Mapper[Any], field: Column[Any], value: object) -> None:
    """A column of text may still be annotated with the few values that it takes."""
    if isinstance(field.type, Enum | TypeDecorator):
        return
    attribute = mapper.get_property_by_column(field).key
    allowed = _literals(mapper.class_, attribute)
    if allowed and value is not None and value not in allowed:
        words = [str(one) for one in allowed]
        raise Misfit(
            f"the annotation allows {', '.join(map(shown, allowed))} only"
            f"{did_you_mean(str(value), words)}"
        )


def _literals(class_: type[Any], attribute: str) -> list[object]:
    try:
        hint = typing.get_type_hints(class_).get(attribute)
    except Exception:  # noqa: BLE001 - names known to a type checker only, or to nobody
        return []
    return _literals_in(hint)


def _literals_in(hint: Any) -> list[object]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [member.value for member in hint]
    return [found for inner in get_args(hint) for found in _literals_in(inner)]
