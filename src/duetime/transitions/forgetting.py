"""Forgetting: who deletes a row through the ORM takes its lines in the ledger along, lest a new row
with the same key be taken for it."""

from __future__ import annotations

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
)
from sqlalchemy.orm import Mapper, object_session

from duetime.transitions.key import key_text
from duetime.transitions.statements import Statements

# In the info of sessions that sweep: they forget many rows at once.
SWEEPS = "duetime.sweeps"
# Whose ledger is known to be there.
_by_table: WeakKeyDictionary[Engine, dict[Table, Delete]] = WeakKeyDictionary()


def forget_deleted(engine: Engine, statements: Statements) -> None:
    """From now on. Keys of other types are hardly ever used again; they are pruned."""
    target = statements.target
    if all(isinstance(key.type, Integer | String) for key in target.keys):
        _by_table.setdefault(engine, {})[target.table] = _statement(statements)
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
    forgets = _by_table.get(connection.engine, {})
    for table in mapper.tables:
        if isinstance(table, Table) and table in forgets:
            keys = [mapper.get_property_by_column(one).key for one in table.primary_key]
            given = {f"duetime_{n}": getattr(model, key) for n, key in enumerate(keys)}
            connection.execute(forgets[table], given)
