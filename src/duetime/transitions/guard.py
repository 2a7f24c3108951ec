"""Guards: the condition on rows that a transition still applies to. The transition's index is
partial on the same condition, so that rows leave the index once the transition is applied."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, Column, ColumnElement, Table, or_
from sqlalchemy.orm import Mapper
from sqlalchemy.sql import visitors

from duetime.model.transition import UNSET, Declaration, Effect
from duetime.transitions.soft_delete import not_deleted
from duetime.transitions.values import coerce_value

Terms = list[ColumnElement[bool]]


def guard_terms(mapper: Mapper[Any], due: Column[Any], declared: Declaration) -> Terms:
    """Return the terms that are part of the index. Raises KeyError if the field is not in the
    column's table, ValueMismatch if a value does not fit."""
    table = due.table
    assert isinstance(table, Table)
    terms: Terms = [due.is_not(None)]
    if declared.set_field is not None:
        terms.append(_not_yet_set(field_column(mapper, table, declared.set_field), declared))
    if declared.effect is not Effect.hard_delete:
        terms += not_deleted(table)
    if declared.where is not None:
        terms.append(where_term(table, declared))
    return terms


def unindexed_terms(mapper: Mapper[Any], table: Table, declared: Declaration) -> Terms:
    """Return the terms that cannot be part of the index: deletion markers in other tables of the
    row, and the row's class if several classes share the table."""
    terms: Terms = []
    if declared.effect is not Effect.hard_delete:
        for other in mapper.tables:
            if isinstance(other, Table) and other is not table:
                terms += not_deleted(other)
    if mapper.single and mapper.polymorphic_on is not None:
        classes = [sub.polymorphic_identity for sub in mapper.self_and_descendants]
        identities = [identity for identity in classes if identity is not None]
        terms.append(mapper.polymorphic_on.in_(identities))
    return terms


def where_term(table: Table, declared: Declaration) -> ColumnElement[bool]:
    """Return the condition that the user gave: an expression, or a function of the columns."""
    where = declared.where
    condition: ColumnElement[bool] = where(table.c) if callable(where) else where
    return condition


def field_column(mapper: Mapper[Any], table: Table, name: str) -> Column[Any]:
    """Return a column by the name of its attribute, which may differ from the column's. Raises
    KeyError."""
    column = mapper.columns.get(name)
    if isinstance(column, Column) and column.table is table:
        return column
    return table.c[name]


def _not_yet_set(field: Column[Any], declared: Declaration) -> ColumnElement[bool]:
    """Return the condition that the field can still be set; NULL is compared like any value."""
    to = coerce_value(field, declared.to)
    if declared.from_ is UNSET:
        return field.is_not(None) if to is None else or_(field != to, field.is_(None))
    from_ = None if declared.from_ is None else coerce_value(field, declared.from_)
    return field.is_(None) if from_ is None else field == from_


def with_literals(terms: Terms) -> Terms:
    """Return the terms with literal values instead of parameters: a database uses a partial index
    only if the query implies the index's condition before parameters are known."""

    def as_literal(element: Any, **_: Any) -> Any:
        return element.render_literal_execute() if isinstance(element, BindParameter) else None

    return [visitors.replacement_traverse(term, {}, as_literal) for term in terms]
