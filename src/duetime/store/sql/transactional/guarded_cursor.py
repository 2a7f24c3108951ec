"""The cursors of a connection that a handler was lent: they do not end its transaction, and are of
no use once it is over."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.abc import AdaptContext

from duetime.store.sql.transactional.commit_guard import refuse_ending
from duetime.store.sql.transactional.loan import refuse_late


class _Guarded:
    """Of an async cursor, some of these return what is to be awaited."""

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


class GuardedCursor(_Guarded, psycopg.Cursor[Any]):
    pass


class AsyncGuardedCursor(_Guarded, psycopg.AsyncCursor[Any]):
    pass


def _guard(cursor: AdaptContext, query: Any) -> None:
    refuse_late()
    refuse_ending(_as_text(query, cursor))


def _as_text(query: Any, cursor: AdaptContext) -> str:
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(cursor))
