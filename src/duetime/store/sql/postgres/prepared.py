"""Plans that a session keeps: to parse and plan a claim takes the server as long as to claim fifty.

Behind a pooler that lends sessions by the transaction nothing can be kept, because the next
transaction may meet another session. Such a pooler tells its clients a process of its own making.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import psycopg

from duetime.store.sql.drivers import Command

# A plan that the session does not know, or that no longer fits the tables: it did not run, and
# what psycopg believes of the session is wrong.
STALE = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.FeatureNotSupported)
# psycopg prepares on its own what it saw so often; we say ourselves what is worth it.
ONLY_WHEN_ASKED = sys.maxsize
# Where nothing else tells which process answers: what to ask for `notice_session`.
WHO = Command("SELECT pg_backend_pid()")


# Those of sessions that are lent to others in between.
_keepers: WeakSet[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = WeakSet()
# Those that were answered by another process than the one that they were told of.
_pooled: WeakSet[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = WeakSet()


@contextmanager
def keeping(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> Iterator[None]:
    """What a handler sends over a connection that it was lent is not kept, whatever it asks for;
    what we send meanwhile is, if the session is known to keep it."""
    connection.prepare_threshold = ONLY_WHEN_ASKED if connection in _keepers else None
    try:
        yield
    finally:
        if connection.prepare_threshold is not None:
            _keepers.add(connection)
        connection.prepare_threshold = None


def lost_plan(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], error: BaseException
) -> bool:
    """Whether this error tells that such a session no longer has what it kept."""
    return connection in _keepers and isinstance(error, STALE)


def notice_session(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], process: object
) -> None:
    """`process` answered: is it the one that we are connected to?

    Until this is known, and wherever it is not so, psycopg takes no `prepare=True`."""
    if connection.prepare_threshold is not None:
        return
    if process == connection.info.backend_pid:
        connection.prepare_threshold = ONLY_WHEN_ASKED
    else:
        _pooled.add(connection)


def must_ask_who(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether nobody has told `notice_session` yet who answers here."""
    return connection.prepare_threshold is None and connection not in _pooled
