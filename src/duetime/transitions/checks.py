"""Checks at registration: whatever is wrong with a declaration stops the start, with the model,
the column, the value and the remedy."""

from __future__ import annotations

import logging
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
from duetime.model.transition import UNSET, Declaration, Effect, flaw
from duetime.transitions.guard import extra, field_column
from duetime.transitions.metadata import declarations, index_of
from duetime.transitions.soft_delete import markers
from duetime.transitions.target import Target, target_of
from duetime.transitions.timestamps import stamp_of
from duetime.transitions.values import Misfit, check_literal, fitted

# What says something else whenever it is asked.
CLOCKS = {
    *("now", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"),
    *("statement_timestamp", "transaction_timestamp", "clock_timestamp", "timeofday", "random"),
}


class TransitionWarning(UserWarning):
    """A declaration that works, and probably does not do what was meant."""


def checked_targets(models: object, log: logging.Logger) -> list[Target]:
    """Every transition of these models. ConfigError if one cannot work, or there is none."""
    found = [
        _checked(mapper, column, declared)
        for mapper in _mappers(models)
        for column, declared in _own(mapper)
    ]
    _warn_of_chains(found)
    for target in found:
        _warn_of_index(target, log)
    return found


def late(models: object, known: Iterable[Column[Any]]) -> list[str]:
    """Transitions that were mapped after these models were registered."""
    seen = set(known)
    return [
        f"{mapper.class_.__name__}.{mapper.get_property_by_column(column).key}"
        for mapper in _mappers(models)
        for column, _ in _own(mapper)
        if column not in seen
    ]


def _mappers(models: object) -> list[Mapper[Any]]:
    configure_mappers()
    if isinstance(models, list | tuple | set | frozenset):
        return [mapper for one in models for mapper in _mappers(one)]
    try:
        return list(mapper_of(models).self_and_descendants)  # type: ignore[arg-type]
    except UnmappedClassError:
        pass
    except Exception as error:
        raise _no_models(models) from error
    known = models if isinstance(models, registry) else _registry_of(models)
    if known is None:
        raise _no_models(models)
    return sorted(known.mappers, key=lambda one: one.class_.__name__)


def _registry_of(base: object) -> registry | None:
    """Of a declarative base, of SQLModel's too."""
    for name in ("registry", "_sa_registry"):
        found = getattr(base, name, None)
        if isinstance(found, registry):
            return found
    return None


def _no_models(models: object) -> ConfigError:
    return ConfigError(
        f"register({shown(models)}, ...) names no models: give the declarative base, one mapped "
        "class, or a list of them"
    )


def _own(mapper: Mapper[Any]) -> Iterator[tuple[Column[Any], Declaration]]:
    """Declared by this class; what a base class declares concerns the rows of this one too."""
    if not isinstance(mapper.local_table, Table):
        return
    for column, declared in declarations(mapper.local_table):
        mapped = column in mapper.columns.values()
        inherited = mapper.inherits is not None and column in mapper.inherits.columns.values()
        if mapped and not inherited:
            yield column, declared


def _checked(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> Target:
    where = f"{mapper.class_.__name__}.{mapper.get_property_by_column(column).key}"
    reason = flaw(declared) or _column_flaw(column, declared)
    if reason is None and declared.set_field is not None:
        reason = _field_flaw(mapper, column, declared)
    if reason is None and declared.where is not None:
        reason = _where_flaw(column, declared)
    if reason is not None:
        raise ConfigError(f"transition of {where}: {reason}")
    return target_of(mapper, column, declared)


def _column_flaw(column: Column[Any], declared: Declaration) -> str | None:
    table = column.table
    assert isinstance(table, Table)
    if stamp_of(column.type) is None:
        return (
            f"the column is {column.type!r}, and a transition needs a timestamp: leave the type "
            "out, or give DateTime(timezone=True)"
        )
    if declared.clear and not column.nullable:
        return "clear=True empties the column, and it is NOT NULL: annotate it `datetime | None`"
    if not table.primary_key.columns:
        return f"table {table.fullname} has no primary key: its rows cannot be told apart"
    if declared.effect is Effect.soft_delete and not markers(table):
        return (
            f"soft_delete=True, and table {table.fullname} has neither deleted_at nor is_deleted: "
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
                "both must be in one table, for one index to find the rows"
            )
        return f"set_field={name!r} is no column of {_named(mapper, name)}"
    if field is column:
        return f"set_field={name!r} is the column itself: clear=True empties it"
    reason = _unsettable(field, name)
    for argument in ("from_", "to"):
        value = getattr(declared, argument)
        if reason is None and value is not UNSET:
            reason = _misfit(mapper, field, argument, value)
    return reason or _idle(field, declared)


def _unsettable(field: Column[Any], name: str) -> str | None:
    if field.primary_key:
        return f"set_field={name!r} is part of the primary key, by which the row is known"
    if field.computed is not None:
        return f"set_field={name!r} is computed by the database: set a column that it comes from"
    if isinstance(field.type, JSON):
        return (
            f"set_field={name!r} is JSON, which databases do not compare, so that nothing tells "
            "which rows have the value: set another column, or use action="
        )
    return None


def _idle(field: Column[Any], declared: Declaration) -> str | None:
    if declared.from_ in (UNSET, None) or declared.to is None:
        return None
    if fitted(field, declared.from_) != fitted(field, declared.to):
        return None
    return f"from_ and to are both {shown(declared.to)}: it would change nothing"


def _named(mapper: Mapper[Any], name: str) -> str:
    known = [*mapper.columns.keys()]
    return f"{mapper.class_.__name__}{did_you_mean(name, known)}; it has {', '.join(known)}"


def _misfit(mapper: Mapper[Any], field: Column[Any], argument: str, value: object) -> str | None:
    attribute = mapper.get_property_by_column(field).key
    try:
        fitted(field, value)
        check_literal(mapper, field, value)
    except Misfit as misfit:
        if argument == "from_" and value is None:
            return None  # no row has it, which does no harm
        return f"{argument}={shown(value)} does not fit {attribute}: {misfit}"
    return None


def _where_flaw(column: Column[Any], declared: Declaration) -> str | None:
    table = column.table
    assert isinstance(table, Table)
    try:
        condition = extra(table, declared)
    except Exception as error:  # noqa: BLE001 - a function of the user's
        reason = str(error) or type(error).__name__
        return f"where= cannot be used, {reason}: it is given the columns of {table.fullname}"
    if not isinstance(condition, ColumnElement):
        return (
            f"where= gives {shown(condition)}, and not a condition: "
            'where=lambda columns: columns.kind == "news"'
        )
    for element in visitors.iterate(condition):
        found = _unindexable(element, table)
        if found is not None:
            return f"where= {found}: it is part of the index, and may ask for the row only"
    return None


def _unindexable(element: object, table: Table) -> str | None:
    if isinstance(element, FunctionElement) and getattr(element, "name", "").lower() in CLOCKS:
        return f"asks for the time, by {element.name}()"
    if isinstance(element, SelectBase):
        return "has a query in it"
    other = element.table if isinstance(element, ColumnClause) else None
    if other is not None and getattr(other, "fullname", None) != table.fullname:
        return f"names {element}, which is not in table {table.fullname}"
    return None


def _warn_of_chains(targets: list[Target]) -> None:
    """Two times that set one field: without `from_`, the later one in a backlog may be undone."""
    for target in targets:
        rivals = [
            one.name
            for one in targets
            if one is not target and one.field is not None and one.field is target.field
        ]
        if rivals and target.declared.from_ is UNSET:
            warnings.warn(
                f"transition of {target.name} sets {target.declared.set_field!r} as "
                f"{' and '.join(rivals)} does, whatever it is: give from_=, so that each takes "
                "its turn",
                TransitionWarning,
                stacklevel=4,
            )


def _warn_of_index(target: Target, log: logging.Logger) -> None:
    index = index_of(target.column)
    partial = index is not None and index.dialect_kwargs.get("postgresql_where") is not None
    if not partial:
        log.warning(
            "transition of %s is found by your index %s, which is not partial: every row whose "
            "time has passed is read at every sweep; leave index=True out to get a partial one",
            target.name,
            "" if index is None else index.name,
        )
