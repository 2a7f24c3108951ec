"""An app whose handler writes its lines outside of the run's own transaction: at least once.

A module for a process has a function `make`; faults strike what it makes.
"""

from __future__ import annotations

import asyncio

from duetime import Context, Duetime
from faults.ledger import ENDED, STARTED
from faults.work import Book, Order, Work


def make(order: Order) -> Duetime:
    app = Duetime(order.url, **order.settings)
    declare(app, Book(order, app))
    return app


def declare(app: Duetime, book: Book) -> None:
    @app.handler(kind="work")
    async def work(payload: Work, ctx: Context) -> int:
        token = book.token()
        book.crash.hit("start")
        await book.write(ctx, token, STARTED)
        book.crash.hit("handler")
        await asyncio.sleep(payload.seconds)
        await book.write(ctx, token, ENDED)
        book.crash.hit("handled")
        return payload.number
