"""Connections of the standard library's sqlite3, a fresh one for each run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from duetime.errors import ConfigError
from duetime.store.sql.joining.joined import Host
from duetime.store.sql.joining.sqlite3 import Sqlite3Caller
from duetime.store.sql.transactional.base import BlockingTransaction, OwnJoined
from duetime.store.transaction import Hop, OwnCommit

# Told of what a statement is about to do; its answer permits or refuses it.
Rule = Callable[..., int]


class Sqlite3Transaction(BlockingTransaction):
    """SQLite itself refuses statements that would end it."""

    def __init__(self, host: Host, connect: Callable[[], sqlite3.Connection]) -> None:
        self._host = host
        self._connect = connect
        self._connection: sqlite3.Connection | None = None

    def _begin(self) -> sqlite3.Connection:
        self._connection = connection = self._connect()
        self.joined = OwnJoined(self._host, Sqlite3Caller(connection))
        connection.execute("BEGIN IMMEDIATE")
        connection.set_authorizer(refuse_any_end)
        return connection

    async def check(self, hop: Hop) -> None:
        if not self._there().in_transaction:
            raise OwnCommit

    async def ended_early(self, hop: Hop, error: BaseException) -> bool:
        """SQLite refuses it by itself."""
        return False

    def refusal(self, error: BaseException) -> ConfigError | None:
        return super().refusal(error) or (OwnCommit() if is_denial(error) else None)

    def broken(self, error: BaseException) -> bool:
        return False

    def _commit(self) -> None:
        self._end("COMMIT")

    def _rollback(self) -> None:
        if self._there().in_transaction:
            self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        self._there().set_authorizer(None)
        self._there().execute(how)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _there(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection


def refuse_any_end(action: int, what: str | None, *_: object) -> int:
    return _deny(action, what, "BEGIN", "COMMIT", "ROLLBACK")


def refuse_commit(action: int, what: str | None, *_: object) -> int:
    """A session rolls back by itself wherever it has to."""
    return _deny(action, what, "BEGIN", "COMMIT")


def is_denial(error: BaseException) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and "not authorized" in str(error)


def _deny(action: int, what: str | None, *denied: str) -> int:
    ending = action == sqlite3.SQLITE_TRANSACTION and what in denied
    return sqlite3.SQLITE_DENY if ending else sqlite3.SQLITE_OK
