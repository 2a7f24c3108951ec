"""An app whose handler writes to the ledger outside its own transaction: at least once.

Each app module of a campaign has a function `make`, which workers call with their order.
"""

from __future__ import annotations

import asyncio

from duetime import Context, Duetime
from faults.ledger import ENDED, STARTED
from faults.work_order import HandlerRecorder, Work, WorkOrder


def make(order: WorkOrder) -> Duetime:
    app = Duetime(order.url, **order.settings)
    declare(app, HandlerRecorder(order, app))
    return app


def declare(app: Duetime, recorder: HandlerRecorder) -> None:
    @app.handler(kind="work")
    async def work(payload: Work, ctx: Context) -> int:
        token = recorder.token()
        recorder.crash.hit("start")
        await recorder.write(ctx, token, STARTED)
        recorder.crash.hit("handler")
        await asyncio.sleep(payload.seconds)
        await recorder.write(ctx, token, ENDED)
        recorder.crash.hit("handled")
        return payload.number
