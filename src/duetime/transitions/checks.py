"""Checks at registration: a flaw of a declaration raises ConfigError, which names the model, the
column, the value and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import JSON, Column, ColumnClause, ColumnElement, SelectBase, Table
from sqlalchemy.orm import Mapper, configure_mappers, registry
from sqlalchemy.orm import class_mapper as mapper_of
from sqlalchemy.orm.exc import UnmappedClassError
from sqlalchemy.sql import visitors
from sqlalchemy.sql.functions import FunctionElement

from duetime.errors import ConfigError, did_you_mean, shown
from duetime.logs import Log
from duetime.model.transition import UNSET, Declaration, Effect, declaration_error
from duetime.transitions.guard import field_column, where_term
from duetime.transitions.metadata import declarations, index_of
from duetime.transitions.soft_delete import marker_columns
from duetime.transitions.target import Target, target_of
from duetime.transitions.timestamps import datetime_type
from duetime.transitions.values import ValueMismatch, check_annotation, coerce_value

# Functions whose result changes from call to call.
VOLATILE_FUNCTIONS = {
    *("now", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"),
    *("statement_timestamp", "transaction_timestamp", "clock_timestamp", "timeofday", "random"),
}


class TransitionWarning(UserWarning):
    """A declaration works, but probably not as intended."""


def checked_targets(models: object, log: Log) -> list[Target]:
    """Return every transition of these models. Raises ConfigError if a transition cannot work, or
    if `models` are not models."""
    targets = [
        _checked_target(mapper, column, declared)
        for mapper in _mappers(models)
        for column, declared in _own_declarations(mapper)
    ]
    _warn_of_rivals(targets)
    for target in targets:
        _warn_of_full_index(target, log)
    return targets


def mapped_since(models: object, known: Iterable[Column[Any]]) -> list[str]:
    """Return the names of transitions that were mapped after these models were registered, with
    the transitions of the `known` columns."""
    seen = set(known)
    return [
        f"{mapper.class_.__name__}.{mapper.get_property_by_column(column).key}"
        for mapper in _mappers(models)
        for column, _ in _own_declarations(mapper)
        if column not in seen
    ]


def _mappers(models: object) -> list[Mapper[Any]]:
    configure_mappers()
    if isinstance(models, list | tuple | set | frozenset):
        return [mapper for item in models for mapper in _mappers(item)]
    try:
        return list(mapper_of(models).self_and_descendants)  # type: ignore[arg-type]
    except UnmappedClassError:
        pass
    except Exception as error:
        raise _not_models(models) from error
    found = models if isinstance(models, registry) else _registry_of(models)
    if found is None:
        raise _not_models(models)
    return sorted(found.mappers, key=lambda mapper: mapper.class_.__name__)


def _registry_of(base: object) -> registry | None:
    """Return the registry of a declarative base, SQLModel's included."""
    for name in ("registry", "_sa_registry"):
        found = getattr(base, name, None)
        if isinstance(found, registry):
            return found
    return None


def _not_models(models: object) -> ConfigError:
    return ConfigError(
        f"register({shown(models)}, ...): not a model: give the declarative base, a mapped class, "
        "or a list of these"
    )


def _own_declarations(mapper: Mapper[Any]) -> Iterator[tuple[Column[Any], Declaration]]:
    """Yield what this class declares. Declarations of a base class apply to its rows too, but are
    yielded with the base class."""
    if not isinstance(mapper.local_table, Table):
        return
    for column, declared in declarations(mapper.local_table):
        mapped = column in mapper.columns.values()
        inherited = mapper.inherits is not None and column in mapper.inherits.columns.values()
        if mapped and not inherited:
            yield column, declared


def _checked_target(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> Target:
    name = f"{mapper.class_.__name__}.{mapper.get_property_by_column(column).key}"
    reason = declaration_error(declared) or _column_flaw(column, declared)
    if reason is None and declared.set_field is not None:
        reason = _field_flaw(mapper, column, declared)
    if reason is None and declared.where is not None:
        reason = _where_flaw(column, declared)
    if reason is not None:
        raise ConfigError(f"transition {name}: {reason}")
    return target_of(mapper, column, declared)


def _column_flaw(column: Column[Any], declared: Declaration) -> str | None:
    table = column.table
    assert isinstance(table, Table)
    if datetime_type(column.type) is None:
        return (
            f"the column is {column.type!r}, but a transition needs a timestamp: leave the type "
            "out, or give DateTime(timezone=True)"
        )
    if declared.clear and not column.nullable:
        return "clear=True empties the column, but it is NOT NULL: annotate it `datetime | None`"
    if not table.primary_key.columns:
        return f"table {table.fullname} has no primary key: a transition needs one"
    if declared.effect is Effect.soft_delete and not marker_columns(table):
        return (
            f"soft_delete=True, but table {table.fullname} has neither deleted_at nor is_deleted: "
            "add the mixin duetime.transitions.SoftDeletable, or use hard_delete=True"
        )
    return None


def _field_flaw(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> str | None:
    table, name = column.table, str(declared.set_field)
    assert isinstance(table, Table)
    try:
        field = field_column(mapper, table, name)
    except KeyError:
        if name in mapper.columns:
            return (
                f"set_field={name!r} is not in table {table.fullname}, where {column.name} is: "
                "both must be in one table, so that one index finds the rows"
            )
        return f"set_field={name!r} is not a column of {_column_names(mapper, name)}"
    if field is column:
        return f"set_field={name!r} is the column itself: clear=True empties it"
    reason = _unsettable_flaw(field, name)
    for argument in ("from_", "to"):
        value = getattr(declared, argument)
        if reason is None and value is not UNSET:
            reason = _value_flaw(mapper, field, argument, value)
    return reason or _no_change_flaw(field, declared)


def _unsettable_flaw(field: Column[Any], name: str) -> str | None:
    if field.primary_key:
        return f"set_field={name!r} is part of the primary key, which must not change"
    if field.computed is not None:
        return f"set_field={name!r} is computed by the database: set one of its source columns"
    if isinstance(field.type, JSON):
        return (
            f"set_field={name!r} is JSON, which databases cannot compare, so that rows without the "
            "value cannot be found: set another column, or use action="
        )
    return None


def _no_change_flaw(field: Column[Any], declared: Declaration) -> str | None:
    if declared.from_ in (UNSET, None) or declared.to is None:
        return None
    if coerce_value(field, declared.from_) != coerce_value(field, declared.to):
        return None
    return f"from_ and to are both {shown(declared.to)}: it would change nothing"


def _column_names(mapper: Mapper[Any], name: str) -> str:
    names = [*mapper.columns.keys()]
    return f"{mapper.class_.__name__}{did_you_mean(name, names)}; it has {', '.join(names)}"


def _value_flaw(
    mapper: Mapper[Any], field: Column[Any], argument: str, value: object
) -> str | None:
    attribute = mapper.get_property_by_column(field).key
    try:
        coerce_value(field, value)
        check_annotation(mapper, field, value)
    except ValueMismatch as mismatch:
        if argument == "from_" and value is None:
            return None  # harmless: no row has the value
        return f"{argument}={shown(value)} does not fit {attribute}: {mismatch}"
    return None


def _where_flaw(column: Column[Any], declared: Declaration) -> str | None:
    table = column.table
    assert isinstance(table, Table)
    try:
        condition = where_term(table, declared)
    except Exception as error:  # noqa: BLE001 - calls a function of the user's
        reason = str(error) or type(error).__name__
        return f"where= failed: {reason}; it is called with the columns of {table.fullname}"
    if not isinstance(condition, ColumnElement):
        return (
            f"where= gives {shown(condition)}, not a condition: "
            'where=lambda columns: columns.kind == "news"'
        )
    for element in visitors.iterate(condition):
        part = _unindexable_part(element, table)
        if part is not None:
            return (
                f"where= uses {part}: the condition is part of an index, and may only use "
                "columns of the row"
            )
    return None


def _unindexable_part(element: object, table: Table) -> str | None:
    name = getattr(element, "name", "") if isinstance(element, FunctionElement) else ""
    if name.lower() in VOLATILE_FUNCTIONS:
        return f"{name}(), whose result changes"
    if isinstance(element, SelectBase):
        return "a query"
    other = element.table if isinstance(element, ColumnClause) else None
    if other is not None and getattr(other, "fullname", None) != table.fullname:
        return f"{element}, which is not in table {table.fullname}"
    return None


def _warn_of_rivals(targets: list[Target]) -> None:
    """Warn of two transitions that set one field: without `from_`, the earlier one may overwrite
    the later one in a backlog."""
    for target in targets:
        rivals = [
            other.name
            for other in targets
            if other is not target and other.field is not None and other.field is target.field
        ]
        if rivals and target.declared.from_ is UNSET:
            warnings.warn(
                f"transition {target.name} sets {target.declared.set_field!r} whatever its value "
                f"is, and {' and '.join(rivals)} sets it too: give from_=, so that they are "
                "applied in order",
                TransitionWarning,
                stacklevel=4,
            )


def _warn_of_full_index(target: Target, log: Log) -> None:
    index = index_of(target.column)
    partial = index is not None and index.dialect_kwargs.get("postgresql_where") is not None
    if not partial:
        log.warning(
            "transition %s uses your index %s, which is not partial: every sweep reads every row "
            "whose time has passed; remove index=True to get a partial index",
            target.name,
            "" if index is None else index.name,
        )
