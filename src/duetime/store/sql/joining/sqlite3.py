"""The standard library's sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import BlockingCaller, Params, Standing
from duetime.store.sql.statements.loader import Dialect, Style


class Sqlite3Caller(BlockingCaller):
    dialect: Dialect = "sqlite"
    style: Style = "named"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def owner(self) -> object:
        return self._connection

    def standing(self) -> Standing:
        return standing_of(self._connection)

    def fetch(self, text: str, params: Params) -> Rows:
        with closing(sqlite3.Cursor(self._connection)) as cursor, _plain_text(self._connection):
            cursor.row_factory = None
            return cursor.execute(text, params or {}).fetchall()


def standing_of(connection: Any) -> Standing:
    """Of anything that has the attributes of a sqlite3.Connection."""
    if connection.in_transaction:
        return Standing.open
    # Since Python 3.12 `autocommit` decides, unless it leaves it to `isolation_level`.
    decided = getattr(connection, "autocommit", None)
    if decided is True or (decided is not False and connection.isolation_level is None):
        return Standing.alone
    return Standing.unopened


@contextmanager
def _plain_text(connection: sqlite3.Connection) -> Iterator[None]:
    theirs = connection.text_factory
    connection.text_factory = str
    try:
        yield
    finally:
        connection.text_factory = theirs
