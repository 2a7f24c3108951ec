"""asyncpg: a connection, or one lent by its pool."""

from __future__ import annotations

from typing import Any

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import AsyncCaller, Params, Standing
from duetime.store.sql.statements.loader import Dialect, Style


class AsyncpgCaller(AsyncCaller):
    dialect: Dialect = "postgres"
    style: Style = "dollar"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def owner(self) -> object:
        # What a pool lends stands for the connection itself.
        return getattr(self._connection, "_con", self._connection)

    def standing(self) -> Standing:
        return Standing.open if self._connection.is_in_transaction() else Standing.alone

    async def afetch(self, text: str, params: Params) -> Rows:
        if params is None:
            await self._connection.execute(text)
            return ()
        return [tuple(record) for record in await self._connection.fetch(text, *params)]
