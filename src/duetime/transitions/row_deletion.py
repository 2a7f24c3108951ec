"""Delete a row's ledger entries when the row is deleted through the ORM, lest a new row with the
same key inherit them."""

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

from duetime.transitions.commit_watch import root_engine
from duetime.transitions.row_key import key_text
from duetime.transitions.writes import TargetStatements

# In `info` of a sweep's sessions, which delete the entries of many rows at once.
SWEEP_KEY = "duetime.sweeps"
_deletes_by_table: WeakKeyDictionary[Engine, dict[Table, EntryDeletion]] = WeakKeyDictionary()


@dataclass(slots=True)
class EntryDeletion:
    """Deletes the ledger entries of one table's rows, once the ledger exists. `schema` is the
    schema's name in the database."""

    statement: Delete
    ledger_name: str
    schema: str | None
    ledger_exists: bool = False

    def run(self, connection: Connection, keys: dict[str, object]) -> None:
        # Checked first: a statement that fails would abort the caller's transaction.
        if not self.ledger_exists:
            self.ledger_exists = inspect(connection).has_table(self.ledger_name, schema=self.schema)
        if self.ledger_exists:
            connection.execute(self.statement, keys)


def delete_entries_with_rows(
    engine: Engine, schema_map: Mapping[str | None, str | None], statements: TargetStatements
) -> None:
    """Delete ledger entries with their rows from now on, even in a process that never sweeps. Keys
    that are neither integers nor strings are hardly ever reused: cleanup deletes their entries."""
    target, ledger = statements.target, statements.target.ledger
    if all(isinstance(key.type, Integer | String) for key in target.keys):
        schema = schema_map.get(ledger.schema, ledger.schema)
        deletes = _deletes_by_table.setdefault(root_engine(engine), {})
        deletes[target.table] = EntryDeletion(_delete_statement(statements), ledger.name, schema)
        if not event.contains(target.mapper, "after_delete", _after_delete):
            event.listen(target.mapper, "after_delete", _after_delete, propagate=True)


def _delete_statement(statements: TargetStatements) -> Delete:
    keys: Any = [
        bindparam(f"duetime_{n}", type_=key.type) for n, key in enumerate(statements.target.keys)
    ]
    ledger = statements.target.ledger
    of_row = ledger.c.row_key == key_text(keys, statements.dialect)
    return delete(ledger).where(ledger.c.table_name == statements.table_name, of_row)


def _after_delete(mapper: Mapper[Any], connection: Connection, model: Any) -> None:
    """Delete the entries after the row: a sweep locks in this order too."""
    session = object_session(model)
    if session is not None and SWEEP_KEY in session.info:
        return
    deletes = _deletes_by_table.get(root_engine(connection.engine), {})
    for table in mapper.tables:
        if isinstance(table, Table) and table in deletes:
            keys = [mapper.get_property_by_column(column).key for column in table.primary_key]
            params = {f"duetime_{n}": getattr(model, key) for n, key in enumerate(keys)}
            deletes[table].run(connection, params)
