"""A target: one column of one model with a declared transition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, FromClause, Index, Table
from sqlalchemy.orm import Mapper

from duetime.model.transition import UNSET, Declaration, Effect, TransitionView
from duetime.transitions.guard import Terms, field_column, guard_terms, unindexed_terms
from duetime.transitions.ledger import ledger_in
from duetime.transitions.metadata import index_of
from duetime.transitions.soft_delete import deleted_values
from duetime.transitions.values import coerce_value


@dataclass(frozen=True, eq=False)
class Target:
    """A column whose declaration was checked by `checks`, so that every property below works."""

    mapper: Mapper[Any]
    column: Column[Any]
    declared: Declaration
    guard: Terms
    unindexed: Terms

    @property
    def table(self) -> Table:
        assert isinstance(self.column.table, Table)
        return self.column.table

    @property
    def source(self) -> FromClause:
        """The table, or the join of all tables that the guard uses."""
        return self.mapper.persist_selectable if self.unindexed else self.table

    @property
    def locked_tables(self) -> list[Any]:
        return list(self.mapper.tables) if self.unindexed else [self.table]

    @property
    def keys(self) -> list[Column[Any]]:
        return list(self.table.primary_key.columns)

    @property
    def ledger(self) -> Table:
        return ledger_in(self.table.metadata)

    @property
    def model(self) -> str:
        return self.mapper.class_.__name__

    @property
    def name(self) -> str:
        return f"{self.model}.{self.attribute(self.column)}"

    @property
    def deletes(self) -> bool:
        return self.declared.effect in (Effect.soft_delete, Effect.hard_delete)

    @property
    def applies_once(self) -> bool:
        """Whether an applied value cannot be found again: the row is gone, or its value."""
        return self.declared.hard_delete or self.declared.clear

    @property
    def spans_tables(self) -> bool:
        """Whether a row of this model, or of a subclass, spans several tables."""
        return any(len(mapper.tables) > 1 for mapper in self.mapper.self_and_descendants)

    @property
    def field(self) -> Column[Any] | None:
        name = self.declared.set_field
        return None if name is None else field_column(self.mapper, self.table, name)

    @property
    def to(self) -> object:
        return None if self.field is None else coerce_value(self.field, self.declared.to)

    def attribute(self, column: Column[Any]) -> str:
        return self.mapper.get_property_by_column(column).key

    def values_at(self, now: datetime) -> dict[Column[Any], object]:
        """Return the values that are written into the row, unless it is hard-deleted."""
        written: dict[Column[Any], object] = {}
        if self.field is not None:
            written[self.field] = self.to
        if self.declared.soft_delete:
            written |= deleted_values(self.table, now)
        if self.declared.clear:
            written[self.column] = None
        return written

    def view(self) -> TransitionView:
        index: Index | None = index_of(self.column)
        return TransitionView(
            model=self.model,
            table=self.table.fullname,
            column=self.attribute(self.column),
            effect=self.declared.effect,
            field=self.declared.set_field,
            from_=self.declared.from_,
            to=None if self.declared.to is UNSET else self.declared.to,
            clear=self.declared.clear,
            action=self.declared.action is not None,
            index="none" if index is None else str(index.name),
        )


def target_of(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> Target:
    assert isinstance(column.table, Table)
    guard = guard_terms(mapper, column, declared)
    return Target(mapper, column, declared, guard, unindexed_terms(mapper, column.table, declared))
