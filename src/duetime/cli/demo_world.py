"""More of the demo's shop, for its dashboard: tenants, chains, failures, jobs, a paused queue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from duetime.app import Duetime
from duetime.cli.demo_shop import (
    NAMES,
    QUEUE,
    CountStock,
    Visit,
    Visitors,
    Work,
    make_shop,
    remove_jobs,
)
from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock
from duetime.model.tenant import ANY
from duetime.registry.context import Context

MAIL_QUEUE, NEWS_QUEUE = f"{QUEUE}-mail", f"{QUEUE}-news"
QUEUES = (QUEUE, MAIL_QUEUE, NEWS_QUEUE)
TENANTS = ("acme", "globex")
FAR_AHEAD_DAYS = (1, 7, 30, 365)
ONCE = Retry(attempts=1)


@dataclass(frozen=True)
class SendInvoice:
    number: int


@dataclass(frozen=True)
class PackOrder:
    order: int


@dataclass(frozen=True)
class ShipOrder:
    order: int


@dataclass(frozen=True)
class AskForReview:
    order: int


@dataclass(frozen=True)
class SendNewsletter:
    to: str


@dataclass(frozen=True)
class PrintLabel:
    """No handler runs it."""

    order: int


@dataclass(frozen=True)
class SyncPrices:
    supplier: str


@dataclass(frozen=True)
class CloseDay:
    till: str


@dataclass(frozen=True)
class ExportReport:
    report: str


async def send_invoice(payload: SendInvoice, ctx: Context, work: Work) -> str:
    await work.take(0.08)
    match payload.number % 5:
        case 1:
            raise ValueError(f"invoice {payload.number} has no address")
        case 3 if ctx.attempt == 1:
            raise TimeoutError(f"the mail server did not take message {payload.number:#06x}")
        case _:
            return f"invoice {payload.number} sent"


async def pack_order(payload: PackOrder, work: Work) -> str:
    await work.take(0.4)
    if payload.order % 4 == 3:
        raise LookupError(f"order {payload.order} is not on shelf {payload.order % 30}")
    return f"order {payload.order} packed"


async def ship_order(payload: ShipOrder, work: Work) -> str:
    await work.take(0.2)
    return f"order {payload.order} is on its way"


async def ask_for_review(payload: AskForReview) -> str:
    return f"asked for a review of order {payload.order}"


async def send_newsletter(payload: SendNewsletter) -> str:
    return f"newsletter sent to {payload.to}"


async def sync_prices(payload: SyncPrices, ctx: Context, work: Work) -> None:
    await work.take(0.02)
    raise ConnectionError(f"{payload.supplier} refused request {ctx.action_id.int % 10_000}")


async def close_day(payload: CloseDay, work: Work) -> str:
    await work.take(0.3)
    return f"{payload.till} is closed"


async def export_report(payload: ExportReport, work: Work) -> str:
    await work.take(0.5)
    return f"{payload.report} exported"


def make_world(url: str, *, clock: Clock | None = None, work: Work | None = None) -> Duetime:
    """Return the shop with the handlers above. It stops at once."""
    app = make_shop(url, grace=0.2, clock=clock, work=work)
    twice = Retry(attempts=2, delay=2)
    app.handler(kind="send-invoice", queue=MAIL_QUEUE, retry=twice)(send_invoice)
    app.handler(kind="pack-order", queue=QUEUE, retry=ONCE)(pack_order)
    app.handler(kind="ship-order", queue=QUEUE)(ship_order)
    app.handler(kind="ask-for-review", queue=MAIL_QUEUE)(ask_for_review)
    app.handler(kind="send-newsletter", queue=NEWS_QUEUE)(send_newsletter)
    app.handler(kind="sync-prices", queue=QUEUE, retry=ONCE)(sync_prices)
    app.handler(kind="close-day", queue=QUEUE)(close_day)
    app.handler(kind="export-report", queue=QUEUE)(export_report)
    app.payload(PrintLabel, kind="print-label", queue=QUEUE)
    return app


def watch_health(app: Duetime) -> None:
    """Subscribe the page Alerts in code to what may befall workers, queues and rows."""
    app.notifications.subscribe(
        ["action-lost", "transition-parked", "overdue", "no-worker", "worker-lost"], in_app=True
    )


async def subscribe_readers(app: Duetime) -> None:
    """Let the page Alerts have something to read: of the many failures, those of one kind."""
    add = app.notifications.add
    await add(["job-failing", "job-recovered", "job-paused"], in_app=True, tenant=ANY, by="ada")
    await add("action-failed", in_app=True, kinds="pack-order", tenant=TENANTS[0], by="grace")


class WorldJobs(NamedTuple):
    """The names of the jobs, which differ from those of other demos on the same store."""

    sync_prices: str
    close_day: str
    export_report: str
    count_shelves: str


def world_jobs(demo: str | None) -> WorldJobs:
    """Return names with the name of the demo at their ends; a store of its own needs none."""
    end = "" if demo is None else f"-{demo}"
    return WorldJobs(*(f"{name.replace('_', '-')}{end}" for name in WorldJobs._fields))


async def put_jobs(app: Duetime, names: WorldJobs) -> None:
    """Create the jobs: one that fails each time, one of Paris, and one that is paused."""
    await app.jobs.put(
        names.sync_prices, "*/20 * * * *", payload=SyncPrices("contoso"), alert_after=1
    )
    await app.jobs.put(names.close_day, "0 2 * * *", tz="Europe/Paris", payload=CloseDay("till 3"))
    await app.jobs.put(names.count_shelves, "*/20 * * * *", payload=CountStock("cups"))
    await app.jobs.put(names.export_report, "30 6 * * 1-5", payload=ExportReport("sales"))
    await app.jobs.pause(
        names.export_report,
        by="grace",
        note="the warehouse moves to another database",
        until=app.clock.now() + timedelta(days=3),
    )


@asynccontextmanager
async def open_world(
    app: Duetime, names: WorldJobs, correlation_id: str, *, lasting: bool
) -> AsyncIterator[None]:
    """Create jobs, and what waits for something; unless they are lasting, none is left to run in
    the end."""
    await put_jobs(app, names)
    until = (app.clock.now() + timedelta(hours=2)).replace(second=0, microsecond=0)
    await app.queues.pause(NEWS_QUEUE, by="linus", note="the provider is down", until=until)
    await _schedule_ahead(app, app.clock.now(), correlation_id)
    await app.jobs.trigger(names.sync_prices, by="ada")
    try:
        yield
    finally:
        if not lasting:
            await remove_jobs(app, names)
            await _cancel_all(app, correlation_id)
            await app.queues.resume(NEWS_QUEUE, by="linus")


async def _schedule_ahead(app: Duetime, now: datetime, correlation_id: str) -> None:
    """Schedule actions of a far future, of a paused queue, and of a kind that nothing runs."""
    given: dict[str, Any] = {"correlation_id": correlation_id, "by": "visitor"}
    requests = [
        app.request(AskForReview(days), at=now + timedelta(days=days), tenant=tenant, **given)
        for days in FAR_AHEAD_DAYS
        for tenant in (None, *TENANTS)
    ]
    requests += [app.request(SendNewsletter(name), **given) for name in NAMES]
    requests += [app.request(PrintLabel(order), **given) for order in range(3)]
    await app.schedule_many(requests)


async def _cancel_all(app: Duetime, correlation_id: str) -> None:
    cursor, wanted = None, {"correlation_id": correlation_id}
    while True:
        done = await app.bulk(
            "cancel", filter=wanted, by="visitor", note="the demo ends", cursor=cursor, tenant=ANY
        )
        if (cursor := done.next_cursor) is None:
            return


class Customers(Visitors):
    """Visitors of three shops, one of them without a tenant, who also order and pay."""

    def _visits(self) -> tuple[Visit, ...]:
        return (*super()._visits(), self._invoice, self._order, self._invoice, self._order)

    async def _invoice(self, order: int) -> None:
        await self._schedule(SendInvoice(1000 + order), tenant=tenant_of(order))

    async def _order(self, order: int) -> None:
        tenant = tenant_of(order)
        packed = await self._schedule(PackOrder(order), tenant=tenant, key=f"order-{order}")
        shipped = await self._schedule(ShipOrder(order), 1.0, after=packed, tenant=tenant)
        await self._schedule(AskForReview(order), 7 * 86_400.0, after=shipped, tenant=tenant)


def tenant_of(order: int) -> str | None:
    return (None, *TENANTS)[order % 3]
