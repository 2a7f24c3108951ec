"""What a model with a transition brings into its metadata, as soon as it is mapped: the index by
which due rows are found, and the ledger."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Any

from sqlalchemy import Column, Index, Table, and_, event
from sqlalchemy.orm import Mapper

from duetime.model.transition import Declaration
from duetime.transitions.guard import guard_of
from duetime.transitions.ledger import ledger_in

INFO = "duetime.transition"
LONGEST_NAME = 63
# How many were mapped so far, in this process: whether any was since one looked.
COUNTED: Counter[str] = Counter()


@event.listens_for(Mapper, "after_mapper_constructed")
def _mapped(mapper: Mapper[Any], class_: type[Any]) -> None:
    if isinstance(mapper.local_table, Table):
        attach(mapper, mapper.local_table)


def attach(mapper: Mapper[Any], table: Table) -> None:
    """So that `create_all` and Alembic see them. What is wrong is told by `register`."""
    found = declarations(table)
    COUNTED.update(["transitions"] * len(found))
    for column, declared in found:
        ledger_in(table.metadata)
        if index_of(column) is None:
            _add_index(mapper, column, declared)


def declarations(table: Table) -> list[tuple[Column[Any], Declaration]]:
    return [(column, column.info[INFO]) for column in table.columns if INFO in column.info]


def index_of(column: Column[Any]) -> Index | None:
    """An index that leads with the column: the user's own is respected."""
    for index in column.table.indexes:
        first = next(iter(index.columns), None)
        if first is column:
            return index
    return None


def _add_index(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> None:
    table = column.table
    assert isinstance(table, Table)
    try:
        guard = and_(*guard_of(mapper, column, declared))
    except Exception:  # noqa: BLE001 - a function of the user's is called; register tells
        return
    partial: dict[str, Any] = {f"{name}_where": guard for name in ("postgresql", "sqlite")}
    # By the key too, so that a backlog is gone through row by row, none of them read twice.
    Index(_index_name(table, column), column, *table.primary_key.columns, **partial)


def _index_name(table: Table, column: Column[Any]) -> str:
    name = f"ix_{table.name}_{column.name}_due"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
