"""Callers with an asyncpg connection, from a pool or not."""

from __future__ import annotations

from typing import Any

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import AsyncCaller, Params, TransactionMode
from duetime.store.sql.statements.loader import Dialect, ParamStyle


class AsyncpgCaller(AsyncCaller):
    dialect: Dialect = "postgres"
    style: ParamStyle = "dollar"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def owner(self) -> object:
        # A pool lends proxies of its connections.
        return getattr(self._connection, "_con", self._connection)

    def transaction_mode(self) -> TransactionMode:
        return (
            TransactionMode.open
            if self._connection.is_in_transaction()
            else TransactionMode.autocommit
        )

    async def afetch(self, text: str, params: Params) -> Rows:
        if params is None:
            await self._connection.execute(text)
            return ()
        return [tuple(record) for record in await self._connection.fetch(text, *params)]
