"""Callers with a Django connection to PostgreSQL or SQLite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from duetime.errors import ConfigError
from duetime.store.flow import Rows
from duetime.store.sql.drivers import Driven
from duetime.store.sql.joining.base import BlockingCaller, Params, Render, Step, TransactionMode
from duetime.store.sql.joining.sqlite3 import sqlite_transaction_mode
from duetime.store.sql.statements.loader import Dialect, ParamStyle

T = TypeVar("T")

VENDORS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}


class DjangoCaller(BlockingCaller):
    # Django converts this style to the driver's own, for each of its databases.
    style: ParamStyle = "pyformat"

    def __init__(self, connection: Any) -> None:
        from django.db import connections

        # `django.db.connection` is a proxy for this thread's connection.
        self._connection: Any = connections[connection.alias]

    @property
    def dialect(self) -> Dialect:
        vendor = self._connection.vendor
        if vendor not in VENDORS:
            raise ConfigError(
                f"connection={self._connection.alias!r} of Django is to {vendor}; duetime joins "
                "transactions of PostgreSQL and SQLite"
            )
        return VENDORS[vendor]

    def owner(self) -> object:
        return self._connection

    def transaction_mode(self) -> TransactionMode:
        self._connection.ensure_connection()
        if self.dialect == "sqlite":
            return sqlite_transaction_mode(self._connection.connection)
        commits_itself = self._connection.get_autocommit() and not self._connection.in_atomic_block
        return TransactionMode.autocommit if commits_itself else TransactionMode.open

    def after_commit(self, call: Callable[[], None]) -> bool:
        if not self._connection.in_atomic_block:
            return False  # Django does not manage this transaction and learns of no commit
        self._connection.on_commit(call)
        return True

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        raise ConfigError(
            "a Django connection is for app.sync: call app.sync.…(connection=connection) in sync "
            "code, or wrap it in asgiref's sync_to_async"
        )

    def fetch(self, text: str, params: Params) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.execute(text, params)
            return cursor.fetchall() if cursor.description else ()
