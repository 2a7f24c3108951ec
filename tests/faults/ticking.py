"""The app of `plain`, with jobs that tick beside its work: no tick is lost, none comes twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from duetime import Context, Duetime, Every, Misfire
from faults import plain
from faults.ledger import ENDED, STARTED
from faults.work import Book, Order

JOBS = 6
PERIOD = timedelta(seconds=1)


def make(order: Order) -> Duetime:
    app = Duetime(order.url, **order.settings)
    book = Book(order, app)
    plain.declare(app, book)
    for number in range(JOBS):
        _declare_job(app, book, f"shop-tick-{number}", work=number * 0.1)
    return app


def _declare_job(app: Duetime, book: Book, name: str, work: float) -> None:
    @app.job(Every(seconds=1), name=name, misfire=Misfire.all(), overlap="allow")
    async def tick(ctx: Context) -> None:
        token = book.token()
        await book.write(ctx, token, STARTED)
        await asyncio.sleep(work)
        await book.write(ctx, token, ENDED)
