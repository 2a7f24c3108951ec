"""The app of `plain_app` with recurring jobs, whose ticks must neither be lost nor doubled."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from duetime import Context, Duetime, Every, Misfire
from faults import plain_app
from faults.ledger import ENDED, STARTED
from faults.work_order import HandlerRecorder, WorkOrder

JOBS = 6
PERIOD = timedelta(seconds=1)


def make(order: WorkOrder) -> Duetime:
    app = Duetime(order.url, **order.settings)
    recorder = HandlerRecorder(order, app)
    plain_app.declare(app, recorder)
    for number in range(JOBS):
        _declare_job(app, recorder, f"shop-tick-{number}", work=number * 0.1)
    return app


def _declare_job(app: Duetime, recorder: HandlerRecorder, name: str, work: float) -> None:
    @app.job(Every(seconds=1), name=name, misfire=Misfire.all(), overlap="allow")
    async def tick(ctx: Context) -> None:
        token = recorder.token()
        await recorder.write(ctx, token, STARTED)
        await asyncio.sleep(work)
        await recorder.write(ctx, token, ENDED)
