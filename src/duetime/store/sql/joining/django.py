"""Django's connections, to PostgreSQL and SQLite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from duetime.errors import ConfigError
from duetime.store.flow import Rows
from duetime.store.sql.drivers import Driven
from duetime.store.sql.joining.base import BlockingCaller, Params, Render, Standing, Step
from duetime.store.sql.joining.sqlite3 import standing_of
from duetime.store.sql.statements.loader import Dialect, Style

T = TypeVar("T")

VENDORS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}


class DjangoCaller(BlockingCaller):
    # Django writes it in the driver's way, for each of its databases.
    style: Style = "pyformat"

    def __init__(self, connection: Any) -> None:
        from django.db import connections

        # What `django.db.connection` stands for in this thread.
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

    def standing(self) -> Standing:
        self._connection.ensure_connection()
        if self.dialect == "sqlite":
            return standing_of(self._connection.connection)
        ours = self._connection.get_autocommit() and not self._connection.in_atomic_block
        return Standing.alone if ours else Standing.open

    def after_commit(self, call: Callable[[], None]) -> bool:
        if not self._connection.in_atomic_block:
            return False  # a transaction that Django does not manage: nobody tells it either
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
