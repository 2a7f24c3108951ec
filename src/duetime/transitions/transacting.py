"""Transactions on the application's own database, as a sweep needs them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from duetime.model.clock import SystemClock
from duetime.transitions.target import Target

SYSTEM_CLOCK = SystemClock()


def begin(session: Session, target: Target) -> None:
    """Each statement must see what was committed before it, whatever the engine's default is."""
    bind: dict[str, Any] = {"mapper": target.mapper}
    if isinstance(session.get_bind(target.mapper), Engine) and is_postgres(session, target):
        options = {"isolation_level": "READ COMMITTED"}
        session.connection(bind_arguments=bind, execution_options=options)


def begin_writing(session: Session, target: Target) -> None:
    """On SQLite take the lock for writing before reading: a transaction that reads first and
    writes later is refused as soon as another has written."""
    if is_postgres(session, target):
        if not session.in_transaction():
            begin(session, target)
        return
    session.rollback()
    connection = session.connection(bind_arguments={"mapper": target.mapper})
    driver: Any = connection.connection.driver_connection
    if driver.in_transaction:
        # The engine begins its transactions itself; a write that changes nothing locks as well.
        ledger = target.ledger
        connection.execute(ledger.update().where(ledger.c.row_key.is_(None)).values(attempts=0))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def is_postgres(session: Session, target: Target) -> bool:
    return session.get_bind(target.mapper).dialect.name == "postgresql"
