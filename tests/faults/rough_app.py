"""An app with handlers that block the event loop of their worker, or crash it."""

from __future__ import annotations

import asyncio
import ctypes
import time
from dataclasses import dataclass

from duetime import Context, Duetime
from faults.ledger import ENDED, STARTED
from faults.work_order import HandlerRecorder, Work, WorkOrder


@dataclass(frozen=True)
class RudeWork:
    """Payload: what the handler does, and for how many seconds."""

    number: int
    how: str
    seconds: float = 0.0


def make(order: WorkOrder) -> Duetime:
    app = Duetime(order.url, **order.settings)
    recorder = HandlerRecorder(order, app)

    @app.handler(kind="rude")
    async def rude(payload: RudeWork, ctx: Context) -> None:
        token = recorder.token()
        recorder.write_blocking(ctx, token, STARTED)
        BEHAVIOURS[payload.how](payload.seconds)
        recorder.write_blocking(ctx, token, ENDED)

    @app.handler(kind="work")
    async def work(payload: Work, ctx: Context) -> None:
        token = recorder.token()
        await recorder.write(ctx, token, STARTED)
        await asyncio.sleep(payload.seconds)
        await recorder.write(ctx, token, ENDED)

    return app


def _busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _segfault(seconds: float) -> None:
    ctypes.string_at(0)


BEHAVIOURS = {"sleep": time.sleep, "busy": _busy, "segfault": _segfault}
