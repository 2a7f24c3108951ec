"""Setup before the first sweep: create or upgrade the ledger, and check access to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, Connection, Table, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from duetime.transitions.commit import commit
from duetime.transitions.registration import Registration


def prepare(
    session: Session, registration: Registration, check_store: Callable[[Session], None] | None
) -> None:
    """Create or upgrade each ledger. `check_store`, given if actions are inserted with the rows,
    raises ConfigError unless the session is on the store's database."""
    schema_map = registration.sessions.schema_map
    for target, ledger in registration.ledgers:
        connection = session.connection(bind_arguments={"mapper": target.mapper})
        _create_or_upgrade(connection, ledger, schema_map.get(ledger.schema, ledger.schema))
    commit(session, registration.log)
    if check_store is not None:
        check_store(session)
        session.rollback()


def _create_or_upgrade(connection: Connection, ledger: Table, schema: str | None) -> None:
    if _exists(connection, ledger, schema):
        _add_missing_columns(connection, ledger, schema)
        return
    try:
        with connection.begin_nested():
            ledger.create(connection)
    except SQLAlchemyError:
        # Another process may have created it meanwhile.
        if not _exists(connection, ledger, schema):
            raise


def _add_missing_columns(connection: Connection, ledger: Table, schema: str | None) -> None:
    """Add the columns, all nullable, that a ledger made by an older version lacks."""
    preparer = connection.dialect.identifier_preparer
    name = preparer.quote(ledger.name)
    name = name if schema is None else f"{preparer.quote_schema(schema)}.{name}"
    for column in _missing_columns(connection, ledger, schema):
        type_ = column.type.compile(connection.dialect)
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {column.name} {type_}")
        except SQLAlchemyError:
            # Another process may have added it meanwhile.
            if column in _missing_columns(connection, ledger, schema):
                raise


def _missing_columns(
    connection: Connection, ledger: Table, schema: str | None
) -> list[Column[Any]]:
    columns = inspect(connection).get_columns(ledger.name, schema=schema)
    present = {column["name"] for column in columns}
    return [column for column in ledger.columns if column.name not in present]


def _exists(connection: Connection, ledger: Table, schema: str | None) -> bool:
    return inspect(connection).has_table(ledger.name, schema=schema)
