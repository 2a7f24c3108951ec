"""What must be there before the first row is changed: the ledger, and the way to the store."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Table, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from duetime.transitions.registration import Registration


def prepare(session: Session, known: Registration, admit: Callable[[Session], None] | None) -> None:
    """`admit`, if anything is to be written along, raises ConfigError unless the session leads to
    the store's database."""
    for target, ledger in known.ledgers:
        _make(session.connection(bind_arguments={"mapper": target.mapper}), ledger)
    session.commit()
    if admit is not None:
        admit(session)
        session.rollback()


def _make(connection: Connection, ledger: Table) -> None:
    if _exists(connection, ledger):
        return
    try:
        with connection.begin_nested():
            ledger.create(connection)
    except SQLAlchemyError:
        # Somebody else may have made it meanwhile.
        if not _exists(connection, ledger):
            raise


def _exists(connection: Connection, ledger: Table) -> bool:
    return inspect(connection).has_table(ledger.name, schema=ledger.schema)
