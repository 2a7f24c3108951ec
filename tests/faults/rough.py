"""An app with handlers that treat their worker badly: they block its loop, or take it down."""

from __future__ import annotations

import asyncio
import ctypes
import time
from dataclasses import dataclass

from duetime import Context, Duetime
from faults.ledger import ENDED, STARTED
from faults.work import Book, Order, Work


@dataclass(frozen=True)
class Rude:
    """`how` it behaves, for so many seconds."""

    number: int
    how: str
    seconds: float = 0.0


def make(order: Order) -> Duetime:
    app = Duetime(order.url, **order.settings)
    book = Book(order, app)

    @app.handler(kind="rude")
    async def rude(payload: Rude, ctx: Context) -> None:
        token = book.token()
        book.write_blocking(ctx, token, STARTED)
        MANNERS[payload.how](payload.seconds)
        book.write_blocking(ctx, token, ENDED)

    @app.handler(kind="work")
    async def work(payload: Work, ctx: Context) -> None:
        token = book.token()
        await book.write(ctx, token, STARTED)
        await asyncio.sleep(payload.seconds)
        await book.write(ctx, token, ENDED)

    return app


def _busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _segfault(seconds: float) -> None:
    ctypes.string_at(0)


MANNERS = {"sleep": time.sleep, "busy": _busy, "segfault": _segfault}
