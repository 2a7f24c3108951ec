"""The past day of the demo's shop: run by a worker, on a clock that is moved through that day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta

from duetime.api.arguments import AnyPayload
from duetime.app import Duetime
from duetime.cli.demo_shop import ChargeCard, CheckStock, ResizeImage, SendMail, Work
from duetime.cli.demo_world import (
    QUEUES,
    PackOrder,
    SendInvoice,
    make_world,
    put_jobs,
    subscribe_readers,
    tenant_of,
    world_jobs,
)
from duetime.model.clock import MICROSECOND, SystemClock
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.testing.clock import FakeClock

LENGTH = timedelta(hours=24)
# How often something happens, before the last hour and in it: at least with each tick of a job.
RARELY, OFTEN = timedelta(minutes=20), timedelta(minutes=2)
LATENESS = timedelta(milliseconds=3)
# So long before now it ends: no visit and no retry may lie ahead of the store's own clock.
REST = timedelta(minutes=2)
# Between the actions of a visit; what is due sooner after another one is waited for.
APART = timedelta(seconds=7)
SOON = timedelta(seconds=10)
POLL_SECONDS = 0.002
UNFINISHED = [State.scheduled, State.running]


class PastWork(Work):
    """Takes time by moving the clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    async def take(self, seconds: float) -> None:
        self._clock.advance(seconds)


async def live_past_day(url: str) -> None:
    """Let the shop live through the day until now, in the store at `url`."""
    now = SystemClock().now()
    clock = FakeClock((now - LENGTH).replace(minute=0, second=0, microsecond=0))
    app = make_world(url, clock=clock, work=PastWork(clock))
    async with app:
        # Before the worker starts, which learns then what is to be notified.
        await subscribe_readers(app)
        await _live(app, clock, now)
    await _grant(app)


async def _live(app: Duetime, clock: FakeClock, now: datetime) -> None:
    # One run at a time: the work of one run moves the clock of all.
    async with app.worker(concurrency=1, queues=[*QUEUES]):
        await put_jobs(app, world_jobs(None))
        for number, instant in enumerate(_instants(clock.now(), now - REST)):
            clock.set(max(instant, clock.now()))
            await _visit(app, number)
            await _settle(app, clock)


def _instants(start: datetime, end: datetime) -> Iterator[datetime]:
    instant = start
    while instant < end:
        yield instant
        instant += OFTEN if end - instant < timedelta(hours=1) else RARELY


async def _visit(app: Duetime, number: int) -> None:
    """Schedule what visitors want from now on, some seconds apart."""
    payloads: list[AnyPayload] = [
        SendMail("ada"),
        SendInvoice(number),
        PackOrder(number),
        SendMail("alan"),
    ]
    if number % 3 == 0:
        payloads += [ChargeCard(number, outages=number % 2), ResizeImage(f"{number}.jpg", 1.6)]
    if number % 7 == 0:
        payloads.append(CheckStock(number))
    now, tenant = app.clock.now(), tenant_of(number)
    await app.schedule_many(
        app.request(payload, at=now + APART * place, tenant=tenant, by="visitor")
        for place, payload in enumerate(payloads, start=1)
    )


async def _settle(app: Duetime, clock: FakeClock) -> None:
    """Wait until all ticks and actions of this time have run, and those that come soon after."""
    while True:
        ticks = await app.jobs.list(due_before=clock.now() + MICROSECOND, limit=1, tenant=ANY)
        found = await app.find(state=UNFINISHED, sort="due_at", limit=1, tenant=ANY)
        due_at = next((action.due_at for action in found), None)
        if not len(ticks):
            if due_at is None or due_at > clock.now() + SOON:
                return
            # What is claimed starts when it is due, so that this is right in both states.
            clock.set(max(due_at + LATENESS, clock.now()))
        await asyncio.sleep(POLL_SECONDS)


async def _grant(app: Duetime) -> None:
    """Let there be somebody who may read and retry, but change nothing else."""
    for permission in ("actions.read", "actions.retry", "jobs.read", "stats.read"):
        await app.grants.set("support", permission, by="ada")
    await app.api_keys.create("status page", ["support"], None, by="ada")
