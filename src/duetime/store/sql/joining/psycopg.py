"""psycopg 3, blocking and async."""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.numeric import IntLoader
from psycopg.types.string import StrDumper, TextLoader

from duetime.store.flow import Rows
from duetime.store.sql.joining.base import AsyncCaller, BlockingCaller, Caller, Params, Standing
from duetime.store.sql.statements.loader import Dialect, Style

INTEGERS = ("int2", "int4", "int8")

C = TypeVar("C", psycopg.Cursor[Any], psycopg.AsyncCursor[Any])


class OfPsycopg(Caller):
    """What both forms have in common."""

    dialect: Dialect = "postgres"
    style: Style = "pyformat"
    _connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

    def owner(self) -> object:
        return self._connection

    def standing(self) -> Standing:
        idle = self._connection.info.transaction_status == TransactionStatus.IDLE
        return Standing.alone if idle and self._connection.autocommit else Standing.open


class PsycopgCaller(OfPsycopg, BlockingCaller):
    _connection: psycopg.Connection[Any]

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def fetch(self, text: str, params: Params) -> Rows:
        # Neither the caller's kind of cursor nor the types registered for it are ours to meet.
        with psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:
            plain(cursor).execute(text.encode(), params, prepare=False)
            if self._connection.pgconn.pipeline_status:
                # The caller gathers statements; we need the answer to ours now.
                with self._connection.pipeline() as pipeline:
                    pipeline.sync()
            return cursor.fetchall() if cursor.description else ()


class AsyncPsycopgCaller(OfPsycopg, AsyncCaller):
    _connection: psycopg.AsyncConnection[Any]

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def afetch(self, text: str, params: Params) -> Rows:
        async with psycopg.AsyncCursor(self._connection, row_factory=tuple_row) as cursor:
            await plain(cursor).execute(text.encode(), params, prepare=False)
            if self._connection.pgconn.pipeline_status:
                async with self._connection.pipeline() as pipeline:
                    await pipeline.sync()
            return await cursor.fetchall() if cursor.description else ()


def plain(cursor: C) -> C:
    """Text and integers as psycopg has them, whatever was registered."""
    cursor.adapters.register_dumper(str, StrDumper)
    cursor.adapters.register_loader("text", TextLoader)
    for name in INTEGERS:
        cursor.adapters.register_loader(name, IntLoader)
    return cursor
