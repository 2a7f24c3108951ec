"""Metadata: the index that finds due rows, and the ledger, added to a model's metadata as soon as
the model is mapped."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Any

from sqlalchemy import Column, Index, Table, and_, event
from sqlalchemy.orm import Mapper

from duetime.model.transition import Declaration
from duetime.transitions.guard import guard_terms
from duetime.transitions.ledger import ledger_in

INFO_KEY = "duetime.transition"
MAX_INDEX_NAME_LENGTH = 63
# How many transitions were mapped in this process: a change means that new models were mapped.
DECLARED_COUNT: Counter[str] = Counter()


@event.listens_for(Mapper, "after_mapper_constructed")
def _on_mapper_constructed(mapper: Mapper[Any], class_: type[Any]) -> None:
    if isinstance(mapper.local_table, Table):
        attach(mapper, mapper.local_table)


def attach(mapper: Mapper[Any], table: Table) -> None:
    """Add index and ledger, so that `create_all` and Alembic see them. Flaws of a declaration are
    reported by `register`."""
    found = declarations(table)
    DECLARED_COUNT.update(["transitions"] * len(found))
    for column, declared in found:
        ledger_in(table.metadata)
        if index_of(column) is None:
            _add_index(mapper, column, declared)


def declarations(table: Table) -> list[tuple[Column[Any], Declaration]]:
    return [(column, column.info[INFO_KEY]) for column in table.columns if INFO_KEY in column.info]


def index_of(column: Column[Any]) -> Index | None:
    """Return an index that begins with the column; the user's own counts too."""
    for index in column.table.indexes:
        first = next(iter(index.columns), None)
        if first is column:
            return index
    return None


def _add_index(mapper: Mapper[Any], column: Column[Any], declared: Declaration) -> None:
    table = column.table
    assert isinstance(table, Table)
    try:
        guard = and_(*guard_terms(mapper, column, declared))
    except Exception:  # noqa: BLE001 - calls a function of the user's; register reports the error
        return
    partial: dict[str, Any] = {f"{name}_where": guard for name in ("postgresql", "sqlite")}
    # The key is included, so that a backlog is read in order and no row is read twice.
    Index(_index_name(table, column), column, *table.primary_key.columns, **partial)


def _index_name(table: Table, column: Column[Any]) -> str:
    name = f"ix_{table.name}_{column.name}_due"
    if len(name) <= MAX_INDEX_NAME_LENGTH:
        return name
    return f"{name[: MAX_INDEX_NAME_LENGTH - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
