"""Transactions of a sweep on the application's database: isolation, lock timeouts, write locks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from duetime.model.clock import SystemClock
from duetime.transitions.target import Target

SYSTEM_CLOCK = SystemClock()

# How long a statement waits for a lock.
LOCK_TIMEOUT_MS = 1000
# The same while a batch is halved to find the locked row, which takes several tries.
SHORT_LOCK_TIMEOUT_MS = 50


def begin(session: Session, target: Target) -> None:
    """Begin a transaction in which each statement sees all earlier commits, whatever the engine's
    default isolation level is, and no statement waits long for a lock."""
    if not is_postgres(session, target):
        return
    options = None
    if isinstance(session.get_bind(target.mapper), Engine):
        options = {"isolation_level": "READ COMMITTED"}
    _set_lock_timeout(session, target, LOCK_TIMEOUT_MS, options)


def shorten_lock_timeout(session: Session, target: Target) -> None:
    """Shorten the lock timeout for the rest of this transaction."""
    if is_postgres(session, target):
        _set_lock_timeout(session, target, SHORT_LOCK_TIMEOUT_MS)


def _set_lock_timeout(
    session: Session, target: Target, milliseconds: int, options: dict[str, Any] | None = None
) -> None:
    """Set the timeout on the connection: through the session it would take longer to compile than
    the server takes to execute."""
    bind: dict[str, Any] = {"mapper": target.mapper}
    connection = session.connection(bind_arguments=bind, execution_options=options)
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")


def begin_writing(session: Session, target: Target) -> None:
    """Begin a transaction that writes. On SQLite take the write lock before reading: a transaction
    that reads first and writes later is refused once another transaction has written."""
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
