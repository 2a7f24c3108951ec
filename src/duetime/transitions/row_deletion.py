"""Forgetting: who deletes a row through the ORM takes its lines in the ledger along, lest a new row
with the same key be taken for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    Connection,
    Delete,
    Engine,
    Integer,
    String,
    Table,
    bindparam,
    delete,
    event,
    inspect,
)
from sqlalchemy.orm import Mapper, object_session

from duetime.transitions.commit_watch import origin
from duetime.transitions.row_key import key_text
from duetime.transitions.writes import Statements

# In the info of sessions that sweep: they forget many rows at once.
SWEEPS = "duetime.sweeps"
_by_table: WeakKeyDictionary[Engine, dict[Table, Forgetting]] = WeakKeyDictionary()


@dataclass(slots=True)
class Forgetting:
    """How to forget rows of a table, once there is a ledger; by its name in the database."""

    statement: Delete
    ledger: str
    schema: str | None
    there: bool = False

    def forget(self, connection: Connection, keys: dict[str, object]) -> None:
        # A statement that fails would take the caller's transaction with it.
        self.there = self.there or inspect(connection).has_table(self.ledger, schema=self.schema)
        if self.there:
            connection.execute(self.statement, keys)


def forget_deleted(
    engine: Engine, schemas: Mapping[str | None, str | None], statements: Statements
) -> None:
    """From now on, also in a process that never sweeps. Keys of other types are hardly ever used
    again; they are pruned. `schemas` stand for others on this engine."""
    target, ledger = statements.target, statements.target.ledger
    if all(isinstance(key.type, Integer | String) for key in target.keys):
        schema = schemas.get(ledger.schema, ledger.schema)
        forgets = _by_table.setdefault(origin(engine), {})
        forgets[target.table] = Forgetting(_statement(statements), ledger.name, schema)
        if not event.contains(target.mapper, "after_delete", _deleted):
            event.listen(target.mapper, "after_delete", _deleted, propagate=True)


def _statement(statements: Statements) -> Delete:
    keys: Any = [
        bindparam(f"duetime_{n}", type_=key.type) for n, key in enumerate(statements.target.keys)
    ]
    ledger = statements.target.ledger
    named = ledger.c.row_key == key_text(keys, statements.dialect)
    return delete(ledger).where(ledger.c.table_name == statements.table_name, named)


def _deleted(mapper: Mapper[Any], connection: Connection, model: Any) -> None:
    """After the row, in the order in which a sweep locks them too."""
    session = object_session(model)
    if session is not None and SWEEPS in session.info:
        return
    forgets = _by_table.get(origin(connection.engine), {})
    for table in mapper.tables:
        if isinstance(table, Table) and table in forgets:
            keys = [mapper.get_property_by_column(one).key for one in table.primary_key]
            given = {f"duetime_{n}": getattr(model, key) for n, key in enumerate(keys)}
            forgets[table].forget(connection, given)
