"""Cursors for the connection that a handler is lent: they refuse to end the transaction, and to be
used once the loan is over."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.abc import AdaptContext

from duetime.store.sql.transactional.commit_guard import refuse_transaction_end
from duetime.store.sql.transactional.loan import refuse_after_loan


class _GuardedMixin:
    """Guards for blocking and async cursors; the async methods return awaitables."""

    def execute(self: Any, query: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, query)
        return super().execute(query, params, **how)  # type: ignore[misc]

    def executemany(self: Any, query: Any, params_seq: Any, **how: Any) -> Any:
        _guard(self, query)
        return super().executemany(query, params_seq, **how)  # type: ignore[misc]

    def stream(self: Any, query: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, query)
        return super().stream(query, params, **how)  # type: ignore[misc]

    def copy(self: Any, statement: Any, params: Any = None, **how: Any) -> Any:
        _guard(self, statement)
        return super().copy(statement, params, **how)  # type: ignore[misc]


class GuardedCursor(_GuardedMixin, psycopg.Cursor[Any]):
    pass


class AsyncGuardedCursor(_GuardedMixin, psycopg.AsyncCursor[Any]):
    pass


def _guard(cursor: AdaptContext, query: Any) -> None:
    refuse_after_loan()
    refuse_transaction_end(_as_text(query, cursor))


def _as_text(query: Any, cursor: AdaptContext) -> str:
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(cursor))
