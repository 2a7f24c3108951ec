"""Connections of our own that a handler was lent: psycopg 3, blocking and async.

Their sessions come back to us, so they may keep plans of ours.
"""

from __future__ import annotations

import psycopg
from psycopg.rows import tuple_row

from duetime.store.flow import Rows
from duetime.store.sql.drivers import Pinned
from duetime.store.sql.joining.base import Render, Step
from duetime.store.sql.joining.psycopg import AsyncPsycopgCaller, PsycopgCaller, plain
from duetime.store.sql.postgres.pipelines import sent_whole
from duetime.store.sql.postgres.pools import AsyncConnection, AsyncCursor, Connection, Cursor
from duetime.store.sql.postgres.prepared import keeping, notice_session


class LentCaller(PsycopgCaller):
    takes_pinned = True

    def answer(self, step: Step, render: Render) -> Rows:
        if not isinstance(step, Pinned):
            return super().answer(step, render)
        told, found = self._cursor(), self._cursor()
        with keeping(self._connection):
            with self._connection.pipeline() as pipeline:
                sent_whole(pipeline)
                for cursor, one in ((told, step.settings), (found, step.statement)):
                    text, params = render(one)
                    cursor.execute(text.encode(), params, prepare=True)
            return both(self._connection, told.fetchall(), found.fetchall())

    def _cursor(self) -> Cursor:
        return plain(psycopg.Cursor(self._connection, row_factory=tuple_row))


class AsyncLentCaller(AsyncPsycopgCaller):
    takes_pinned = True

    async def answer(self, step: Step, render: Render) -> Rows:
        if not isinstance(step, Pinned):
            return await super().answer(step, render)
        told, found = self._cursor(), self._cursor()
        with keeping(self._connection):
            async with self._connection.pipeline() as pipeline:
                sent_whole(pipeline)
                for cursor, one in ((told, step.settings), (found, step.statement)):
                    text, params = render(one)
                    await cursor.execute(text.encode(), params, prepare=True)
            return both(self._connection, await told.fetchall(), await found.fetchall())

    def _cursor(self) -> AsyncCursor:
        return plain(psycopg.AsyncCursor(self._connection, row_factory=tuple_row))


def both(connection: Connection | AsyncConnection, told: Rows, found: Rows) -> Rows:
    [(*_, process, _)] = told
    notice_session(connection, process)
    return [*told, *found]
