"""Prepared statements: when a session may keep plans, and how to notice that it lost them.

Parsing and planning a claim costs the server as much as claiming fifty actions. Behind a pooler in
transaction mode nothing can be prepared, because the next transaction may run in another session.
Such a pooler reports a made-up backend process id, which is how it is detected.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import psycopg

from duetime.store.sql.drivers import Command

# The session does not know the plan, or the plan no longer fits the tables. The statement did not
# run, and psycopg's record of what the session has prepared is wrong.
STALE_PLAN_ERRORS = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.FeatureNotSupported)
# The threshold at which psycopg prepares statements by itself: never, only on `prepare=True`.
EXPLICIT_ONLY = sys.maxsize
# Sent where no other answer names the backend process, for `observe_backend`.
BACKEND_PID_QUERY = Command("SELECT pg_backend_pid()")

# Lent connections whose session is known to keep prepared statements.
_preparing_sessions: WeakSet[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = WeakSet()
# Connections that were answered by another backend process than the one they connected to.
_shared_sessions: WeakSet[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = WeakSet()


@contextmanager
def preparing(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> Iterator[None]:
    """Allow prepared statements inside the block, if the session is known to keep them.

    Outside the block a handler uses the connection, and none of its statements are prepared, even
    with `prepare=True`.
    """
    connection.prepare_threshold = EXPLICIT_ONLY if connection in _preparing_sessions else None
    try:
        yield
    finally:
        if connection.prepare_threshold is not None:
            _preparing_sessions.add(connection)
        connection.prepare_threshold = None


def lost_prepared_statement(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], error: BaseException
) -> bool:
    """Return whether `error` means that the session lost statements that we had prepared."""
    return connection in _preparing_sessions and isinstance(error, STALE_PLAN_ERRORS)


def observe_backend(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], backend_pid: object
) -> None:
    """Allow prepared statements if the process that answered is the one we connected to.

    Until that is known, and behind a pooler, psycopg ignores `prepare=True`.
    """
    if connection.prepare_threshold is not None:
        return
    if backend_pid == connection.info.backend_pid:
        connection.prepare_threshold = EXPLICIT_ONLY
    else:
        _shared_sessions.add(connection)


def backend_unknown(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Return whether `observe_backend` has not been called for this connection yet."""
    return connection.prepare_threshold is None and connection not in _shared_sessions
