"""Handler transactions on the standard library's sqlite3, with a new connection for each run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from duetime.errors import ConfigError
from duetime.store.sql.joining.joined import JoinHost
from duetime.store.sql.joining.sqlite3 import Sqlite3Caller
from duetime.store.sql.transactional.base import BlockingTransaction, HandlerJoinedStore
from duetime.store.transaction import RunBlocking, UserCommitted

# SQLite calls it before each operation of a statement; its result permits or denies the operation.
Authorizer = Callable[..., int]


class Sqlite3Transaction(BlockingTransaction):
    """A transaction in which SQLite itself refuses statements that would end it."""

    def __init__(self, host: JoinHost, connect: Callable[[], sqlite3.Connection]) -> None:
        self._host = host
        self._connect = connect
        self._connection: sqlite3.Connection | None = None

    def _begin(self) -> sqlite3.Connection:
        self._connection = connection = self._connect()
        self.joined = HandlerJoinedStore(self._host, Sqlite3Caller(connection))
        connection.execute("BEGIN IMMEDIATE")
        connection.set_authorizer(refuse_any_end)
        return connection

    async def check(self, run_blocking: RunBlocking) -> None:
        if not self._required().in_transaction:
            raise UserCommitted

    async def closed_by_handler(self, run_blocking: RunBlocking, error: BaseException) -> bool:
        """Return False: SQLite refuses any commit by the handler."""
        return False

    def refusal(self, error: BaseException) -> ConfigError | None:
        return super().refusal(error) or (UserCommitted() if is_denial(error) else None)

    def is_disconnect(self, error: BaseException) -> bool:
        return False

    def _commit(self) -> None:
        self._end("COMMIT")

    def _rollback(self) -> None:
        if self._required().in_transaction:
            self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        self._required().set_authorizer(None)
        self._required().execute(how)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _required(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection


def refuse_any_end(action: int, operation: str | None, *_: object) -> int:
    return _deny(action, operation, "BEGIN", "COMMIT", "ROLLBACK")


def refuse_commit(action: int, operation: str | None, *_: object) -> int:
    """Refuse BEGIN and COMMIT only: a session needs ROLLBACK for itself."""
    return _deny(action, operation, "BEGIN", "COMMIT")


def is_denial(error: BaseException) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and "not authorized" in str(error)


def _deny(action: int, operation: str | None, *denied: str) -> int:
    ending = action == sqlite3.SQLITE_TRANSACTION and operation in denied
    return sqlite3.SQLITE_DENY if ending else sqlite3.SQLITE_OK
