"""Callers with a connection of the standard library's sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import BlockingCaller, Params, TransactionMode
from duetime.store.sql.statements.loader import Dialect, ParamStyle


class Sqlite3Caller(BlockingCaller):
    dialect: Dialect = "sqlite"
    style: ParamStyle = "named"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def owner(self) -> object:
        return self._connection

    def transaction_mode(self) -> TransactionMode:
        return sqlite_transaction_mode(self._connection)

    def fetch(self, text: str, params: Params) -> Rows:
        with closing(sqlite3.Cursor(self._connection)) as cursor, _plain_text(self._connection):
            cursor.row_factory = None
            return cursor.execute(text, params or {}).fetchall()


def sqlite_transaction_mode(connection: Any) -> TransactionMode:
    """Return the mode of any object with the attributes of a sqlite3.Connection."""
    if connection.in_transaction:
        return TransactionMode.open
    # Since Python 3.12 `autocommit` decides; its legacy value leaves that to `isolation_level`.
    autocommit = getattr(connection, "autocommit", None)
    if autocommit is True or (autocommit is not False and connection.isolation_level is None):
        return TransactionMode.autocommit
    return TransactionMode.not_begun


@contextmanager
def _plain_text(connection: sqlite3.Connection) -> Iterator[None]:
    text_factory = connection.text_factory
    connection.text_factory = str
    try:
        yield
    finally:
        connection.text_factory = text_factory
