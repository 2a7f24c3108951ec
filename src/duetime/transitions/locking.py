"""Transactions on the application's own database, as a sweep needs them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from duetime.model.clock import SystemClock
from duetime.transitions.target import Target

SYSTEM_CLOCK = SystemClock()

# How long a statement waits for what somebody else holds, in milliseconds; and while the row that
# is held is looked for, which takes several tries.
PATIENCE, BRIEF = 1000, 50


def begin(session: Session, target: Target) -> None:
    """Each statement must see what was committed before it, whatever the engine's default is;
    and none waits for long."""
    if not is_postgres(session, target):
        return
    options = None
    if isinstance(session.get_bind(target.mapper), Engine):
        options = {"isolation_level": "READ COMMITTED"}
    _wait(session, target, PATIENCE, options)


def be_brief(session: Session, target: Target) -> None:
    """In this transaction."""
    if is_postgres(session, target):
        _wait(session, target, BRIEF)


def _wait(
    session: Session, target: Target, most: int, options: dict[str, Any] | None = None
) -> None:
    """Past the session, which would take longer to say it than the server takes to do it."""
    bind: dict[str, Any] = {"mapper": target.mapper}
    connection = session.connection(bind_arguments=bind, execution_options=options)
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {most}")


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
