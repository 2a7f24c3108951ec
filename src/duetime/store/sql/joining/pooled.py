"""Callers with a psycopg connection of our own handler pool, blocking and async.

Their sessions return to us, so they may keep our prepared statements.
"""

from __future__ import annotations

import psycopg
from psycopg.rows import tuple_row

from duetime.store.flow import Rows
from duetime.store.sql.drivers import StatementWithSettings
from duetime.store.sql.joining.base import Render, Step
from duetime.store.sql.joining.psycopg import AsyncPsycopgCaller, PsycopgCaller, with_default_types
from duetime.store.sql.postgres.pipelines import send_whole
from duetime.store.sql.postgres.pools import AsyncConnection, AsyncCursor, Connection, Cursor
from duetime.store.sql.postgres.prepared import observe_backend, preparing


class PooledPsycopgCaller(PsycopgCaller):
    pipelines_settings = True

    def answer(self, step: Step, render: Render) -> Rows:
        if not isinstance(step, StatementWithSettings):
            return super().answer(step, render)
        settings, statement = self._cursor(), self._cursor()
        with preparing(self._connection):
            with self._connection.pipeline() as pipeline:
                send_whole(pipeline)
                for cursor, part in ((settings, step.settings), (statement, step.statement)):
                    text, params = render(part)
                    cursor.execute(text.encode(), params, prepare=True)
            return combined_rows(self._connection, settings.fetchall(), statement.fetchall())

    def _cursor(self) -> Cursor:
        return with_default_types(psycopg.Cursor(self._connection, row_factory=tuple_row))


class AsyncPooledPsycopgCaller(AsyncPsycopgCaller):
    pipelines_settings = True

    async def answer(self, step: Step, render: Render) -> Rows:
        if not isinstance(step, StatementWithSettings):
            return await super().answer(step, render)
        settings, statement = self._cursor(), self._cursor()
        with preparing(self._connection):
            async with self._connection.pipeline() as pipeline:
                send_whole(pipeline)
                for cursor, part in ((settings, step.settings), (statement, step.statement)):
                    text, params = render(part)
                    await cursor.execute(text.encode(), params, prepare=True)
            return combined_rows(
                self._connection, await settings.fetchall(), await statement.fetchall()
            )

    def _cursor(self) -> AsyncCursor:
        return with_default_types(psycopg.AsyncCursor(self._connection, row_factory=tuple_row))


def combined_rows(connection: Connection | AsyncConnection, settings: Rows, rows: Rows) -> Rows:
    """Return both answers; the settings' answer also names the backend process."""
    [(*_, process, _)] = settings
    observe_backend(connection, process)
    return [*settings, *rows]
