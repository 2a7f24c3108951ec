"""Declaring: `transition()` in a model, `declare()` for a model that one cannot edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, Table
from sqlalchemy.orm import InstrumentedAttribute, MappedColumn, Mapper, mapped_column
from sqlalchemy.types import TypeEngine

from duetime.errors import ConfigError, shown
from duetime.model.transition import UNSET, Declaration
from duetime.transitions.metadata import INFO, attach
from duetime.transitions.timestamps import Instant


def transition(
    *column: Any,
    set_field: str | None = None,
    from_: object = UNSET,
    to: object = UNSET,
    soft_delete: bool = False,
    hard_delete: bool = False,
    action: Callable[[Any], object] | None = None,
    where: Any = None,
    clear: bool = False,
    **options: Any,
) -> MappedColumn[Any]:
    """A column of instants at which its row changes: a field is set, the row is deleted softly or
    for good, an action is scheduled.

    `from_` applies it only to rows whose field has that value. `where` is one more condition: a
    function of the table's columns. `action` is a function of the row that returns the payload to
    schedule; it may go with an effect, or stand alone with `where` or with `clear=True`, which
    empties the column when it was applied. All else is for `mapped_column`; without a type, the
    column is a timestamp with time zone in UTC.
    """
    declared = Declaration(
        set_field=set_field,
        from_=from_,
        to=to,
        soft_delete=soft_delete,
        hard_delete=hard_delete,
        action=action,
        where=where,
        clear=clear,
    )
    if not _has_type(column, options):
        options["type_"] = Instant()
    options["info"] = {**options.get("info", {}), INFO: declared}
    return mapped_column(*column, **options)


def declare(
    attribute: Any,
    *,
    set_field: str | None = None,
    from_: object = UNSET,
    to: object = UNSET,
    soft_delete: bool = False,
    hard_delete: bool = False,
    action: Callable[[Any], object] | None = None,
    where: Any = None,
    clear: bool = False,
) -> None:
    """The same for a column that exists: `declare(Post.publish_at, soft_delete=True)`. `where`
    may also be an expression, such as `Post.kind == "news"`."""
    mapper, column = _found(attribute)
    if INFO in column.info:
        raise ConfigError(f"{column} has a transition already: a column can have one")
    column.info[INFO] = Declaration(
        set_field=set_field,
        from_=from_,
        to=to,
        soft_delete=soft_delete,
        hard_delete=hard_delete,
        action=action,
        where=where,
        clear=clear,
    )
    assert isinstance(column.table, Table)
    attach(mapper, column.table)


def _has_type(column: tuple[Any, ...], options: dict[str, Any]) -> bool:
    def is_type(value: object) -> bool:
        known = isinstance(value, type) and issubclass(value, TypeEngine)
        return known or isinstance(value, TypeEngine)

    return "type_" in options or any(is_type(one) for one in column)


def _found(attribute: Any) -> tuple[Mapper[Any], Column[Any]]:
    if isinstance(attribute, InstrumentedAttribute):
        mapper = attribute.parent
        column = next(iter(getattr(attribute.property, "columns", [])), None)
        if isinstance(mapper, Mapper) and isinstance(column, Column):
            return mapper, column
    raise ConfigError(
        f"declare({shown(attribute)}) names no column of a mapped class: give Model.attribute"
    )
