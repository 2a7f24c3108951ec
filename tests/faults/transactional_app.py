"""An app whose handler writes to the ledger in its own transaction: exactly once.

On PostgreSQL its start is written beside it, so that runs whose effect was taken back are seen
too; on SQLite the run's transaction holds the only lock there is.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from typing import Any

import psycopg

from duetime import Context, Duetime, Retry
from faults.ledger import ENDED, STARTED, Line, insert, is_sqlite, new_line
from faults.work_order import HandlerRecorder, Work, WorkOrder

# What a handler asks on a wire that swallows it is never answered: it needs a time of its own.
TIMEOUT_SECONDS = 5.0
UNTIL_IT_SUCCEEDS = Retry(attempts=1000, delay=0.1, factor=1.0)
# One at a time on SQLite: shorter work, or it piles up.
SHORTER = 10


def make(order: WorkOrder) -> Duetime:
    app = Duetime(order.url, **order.settings)
    declare = _on_sqlite if is_sqlite(order.url) else _on_postgres
    declare(app, HandlerRecorder(order, app))
    return app


def _on_postgres(app: Duetime, recorder: HandlerRecorder) -> None:
    @app.handler(kind="work", transactional=True, timeout=TIMEOUT_SECONDS, retry=UNTIL_IT_SUCCEEDS)
    async def work(payload: Work, ctx: Context, db: psycopg.AsyncConnection[Any]) -> int:
        token = recorder.token()
        recorder.crash.hit("start")
        await recorder.write(ctx, token, STARTED)
        recorder.crash.hit("handler")
        await asyncio.sleep(payload.seconds)
        await db.execute(insert("%s").encode(), _end(ctx, token))
        recorder.crash.hit("handled")
        return payload.number


def _on_sqlite(app: Duetime, recorder: HandlerRecorder) -> None:
    @app.handler(kind="work", transactional=True)
    def work(payload: Work, ctx: Context, db: sqlite3.Connection) -> int:
        token = recorder.token()
        recorder.crash.hit("start")
        time.sleep(payload.seconds / SHORTER)
        recorder.crash.hit("handler")
        db.execute(insert("?"), _end(ctx, token))
        recorder.crash.hit("handled")
        return payload.number


def _end(ctx: Context, token: str) -> Line:
    return new_line(str(ctx.action_id), token, os.getpid(), ctx.attempt, ENDED)
