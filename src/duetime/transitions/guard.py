"""Guards: which rows a transition still concerns. The index is partial on the same words, so that
a row it was applied to costs nothing any more."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, Column, ColumnElement, Table, or_
from sqlalchemy.orm import Mapper
from sqlalchemy.sql import visitors

from duetime.model.transition import UNSET, Declaration, Effect
from duetime.transitions.soft_delete import not_deleted
from duetime.transitions.values import fitted

Terms = list[ColumnElement[bool]]


def guard_of(mapper: Mapper[Any], due: Column[Any], declared: Declaration) -> Terms:
    """What must hold of a row. KeyError if its field is not in the column's table, Misfit if a
    value does not fit."""
    table = due.table
    assert isinstance(table, Table)
    terms: Terms = [due.is_not(None)]
    if declared.set_field is not None:
        terms.append(_unset_yet(field_column(mapper, table, declared.set_field), declared))
    if declared.effect is not Effect.hard_delete:
        terms += not_deleted(table)
    if declared.where is not None:
        terms.append(extra(table, declared))
    return terms


def beyond(mapper: Mapper[Any], table: Table, declared: Declaration) -> Terms:
    """What must hold besides, and cannot be part of the index: what other tables of the row say,
    and its class, if several share the column."""
    terms: Terms = []
    if declared.effect is not Effect.hard_delete:
        for other in mapper.tables:
            if isinstance(other, Table) and other is not table:
                terms += not_deleted(other)
    if mapper.single and mapper.polymorphic_on is not None:
        classes = [one.polymorphic_identity for one in mapper.self_and_descendants]
        terms.append(mapper.polymorphic_on.in_([one for one in classes if one is not None]))
    return terms


def extra(table: Table, declared: Declaration) -> ColumnElement[bool]:
    """The condition that the user gave: an expression, or a function of the columns."""
    where = declared.where
    found: ColumnElement[bool] = where(table.c) if callable(where) else where
    return found


def field_column(mapper: Mapper[Any], table: Table, name: str) -> Column[Any]:
    """By the attribute's name, which need not be the column's."""
    column = mapper.columns.get(name)
    if isinstance(column, Column) and column.table is table:
        return column
    return table.c[name]


def _unset_yet(field: Column[Any], declared: Declaration) -> ColumnElement[bool]:
    """NULL is a value like any other here."""
    to = fitted(field, declared.to)
    if declared.from_ is UNSET:
        return field.is_not(None) if to is None else or_(field != to, field.is_(None))
    from_ = None if declared.from_ is None else fitted(field, declared.from_)
    return field.is_(None) if from_ is None else field == from_


def in_words(terms: Terms) -> Terms:
    """With the values written out: a database uses a partial index only if it can see, before it
    knows any parameters, that the rows asked for are among those in it."""

    def written(element: Any, **_: Any) -> Any:
        return element.render_literal_execute() if isinstance(element, BindParameter) else None

    return [visitors.replacement_traverse(term, {}, written) for term in terms]
