"""What must be there before the first row is changed: the ledger, and the way to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, Connection, Table, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from duetime.transitions.commit import commit
from duetime.transitions.registration import Registration


def prepare(
    session: Session, registration: Registration, admit: Callable[[Session], None] | None
) -> None:
    """`admit`, if anything is to be written along, raises ConfigError unless the session leads to
    the store's database."""
    for target, ledger in registration.ledgers:
        connection = session.connection(bind_arguments={"mapper": target.mapper})
        _make(connection, ledger, registration.bind.schemas.get(ledger.schema, ledger.schema))
    commit(session, registration.log)
    if admit is not None:
        admit(session)
        session.rollback()


def _make(connection: Connection, ledger: Table, schema: str | None) -> None:
    if _exists(connection, ledger, schema):
        _renew(connection, ledger, schema)
        return
    try:
        with connection.begin_nested():
            ledger.create(connection)
    except SQLAlchemyError:
        # Somebody else may have made it meanwhile.
        if not _exists(connection, ledger, schema):
            raise


def _renew(connection: Connection, ledger: Table, schema: str | None) -> None:
    """One that an older version made has fewer columns; each that is newer may be empty."""
    prepared = connection.dialect.identifier_preparer
    name = prepared.quote(ledger.name)
    name = name if schema is None else f"{prepared.quote_schema(schema)}.{name}"
    for column in _missing(connection, ledger, schema):
        type_ = column.type.compile(connection.dialect)
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {column.name} {type_}")
        except SQLAlchemyError:
            # As above.
            if column in _missing(connection, ledger, schema):
                raise


def _missing(connection: Connection, ledger: Table, schema: str | None) -> list[Column[Any]]:
    known = {one["name"] for one in inspect(connection).get_columns(ledger.name, schema=schema)}
    return [column for column in ledger.columns if column.name not in known]


def _exists(connection: Connection, ledger: Table, schema: str | None) -> bool:
    return inspect(connection).has_table(ledger.name, schema=schema)
