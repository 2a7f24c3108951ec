"""Declarations: `transition()` in a model, `declare()` for a model that you cannot edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, Table
from sqlalchemy.orm import InstrumentedAttribute, MappedColumn, Mapper, mapped_column
from sqlalchemy.types import TypeEngine

from duetime.errors import ConfigError, shown
from duetime.model.transition import UNSET, Declaration
from duetime.transitions.metadata import INFO_KEY, attach
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
    """Return a mapped column of instants at which its row changes: a field is set, the row is
    soft-deleted or hard-deleted, or an action is scheduled.

    `from_` limits the transition to rows whose field has that value. `where` is a further
    condition: a function of the table's columns. `action` is a function of the row that returns the
    payload to schedule; it may accompany an effect, or stand alone with `where` or with
    `clear=True`, which empties the column once the transition is applied. All other arguments are
    those of `mapped_column`; without a type, the column is a timestamp with time zone in UTC.
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
    options["info"] = {**options.get("info", {}), INFO_KEY: declared}
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
    """Declare a transition of an existing column: `declare(Post.publish_at, soft_delete=True)`.
    The arguments are those of `transition`; `where` may also be an expression, such as
    `Post.kind == "news"`."""
    mapper, column = _mapped_column(attribute)
    if INFO_KEY in column.info:
        raise ConfigError(f"{column} already has a transition: a column can have only one")
    column.info[INFO_KEY] = Declaration(
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
        is_class = isinstance(value, type) and issubclass(value, TypeEngine)
        return is_class or isinstance(value, TypeEngine)

    return "type_" in options or any(is_type(argument) for argument in column)


def _mapped_column(attribute: Any) -> tuple[Mapper[Any], Column[Any]]:
    if isinstance(attribute, InstrumentedAttribute):
        mapper = attribute.parent
        column = next(iter(getattr(attribute.property, "columns", [])), None)
        if isinstance(mapper, Mapper) and isinstance(column, Column):
            return mapper, column
    raise ConfigError(
        f"declare({shown(attribute)}): not a column of a mapped class: give Model.attribute"
    )
