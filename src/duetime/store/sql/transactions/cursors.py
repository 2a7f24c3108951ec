"""The cursors of a connection that a handler was lent: they do not end its transaction, and are of
no use once it is over."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.abc import AdaptContext

from duetime.store.sql.transactions.endings import refuse_ending
from duetime.store.sql.transactions.loan import refuse_late


class GuardedCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **how: Any) -> GuardedCursor:
        _guard(self, query)
        return super().execute(query, params, **how)

    def executemany(self, query: Any, params_seq: Any, **how: Any) -> None:
        _guard(self, query)
        super().executemany(query, params_seq, **how)

    def stream(self, query: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, query)
        return super().stream(query, params, **how)

    def copy(self, statement: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, statement)
        return super().copy(statement, params, **how)


class AsyncGuardedCursor(psycopg.AsyncCursor[Any]):
    async def execute(self, query: Any, params: Any = None, **how: Any) -> AsyncGuardedCursor:
        _guard(self, query)
        return await super().execute(query, params, **how)

    async def executemany(self, query: Any, params_seq: Any, **how: Any) -> None:
        _guard(self, query)
        await super().executemany(query, params_seq, **how)

    def stream(self, query: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, query)
        return super().stream(query, params, **how)

    def copy(self, statement: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, statement)
        return super().copy(statement, params, **how)


def _guard(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any], query: Any) -> None:
    refuse_late(cursor.connection)
    refuse_ending(_as_text(query, cursor))


def _as_text(query: Any, cursor: AdaptContext) -> str:
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(cursor))
