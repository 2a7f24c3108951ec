"""Callers with a psycopg 3 connection, blocking or async."""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.numeric import IntLoader
from psycopg.types.string import StrDumper, TextLoader

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import (
    AsyncCaller,
    BlockingCaller,
    Caller,
    Params,
    TransactionMode,
)
from duetime.store.sql.statements.loader import Dialect, ParamStyle

INTEGERS = ("int2", "int4", "int8")

C = TypeVar("C", psycopg.Cursor[Any], psycopg.AsyncCursor[Any])


class PsycopgCallerBase(Caller):
    """Common parts of the blocking and the async caller."""

    dialect: Dialect = "postgres"
    style: ParamStyle = "pyformat"
    _connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

    def owner(self) -> object:
        return self._connection

    def transaction_mode(self) -> TransactionMode:
        idle = self._connection.info.transaction_status == TransactionStatus.IDLE
        return (
            TransactionMode.autocommit
            if idle and self._connection.autocommit
            else TransactionMode.open
        )


class PsycopgCaller(PsycopgCallerBase, BlockingCaller):
    _connection: psycopg.Connection[Any]

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def fetch(self, text: str, params: Params) -> Rows:
        # A plain cursor: the caller's cursor class and registered types would change our rows.
        with psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:
            with_default_types(cursor).execute(text.encode(), params, prepare=False)
            if self._connection.pgconn.pipeline_status:
                # The caller is in pipeline mode; we need the answer to our statement now.
                with self._connection.pipeline() as pipeline:
                    pipeline.sync()
            return cursor.fetchall() if cursor.description else ()


class AsyncPsycopgCaller(PsycopgCallerBase, AsyncCaller):
    _connection: psycopg.AsyncConnection[Any]

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def afetch(self, text: str, params: Params) -> Rows:
        async with psycopg.AsyncCursor(self._connection, row_factory=tuple_row) as cursor:
            await with_default_types(cursor).execute(text.encode(), params, prepare=False)
            if self._connection.pgconn.pipeline_status:
                async with self._connection.pipeline() as pipeline:
                    await pipeline.sync()
            return await cursor.fetchall() if cursor.description else ()


def with_default_types(cursor: C) -> C:
    """Restore psycopg's own adapters for text and integers, whatever the caller registered."""
    cursor.adapters.register_dumper(str, StrDumper)
    cursor.adapters.register_loader("text", TextLoader)
    for name in INTEGERS:
        cursor.adapters.register_loader(name, IntLoader)
    return cursor
