"""The demo's app: a small shop, and visitors who schedule its actions."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from duetime.app import Duetime
from duetime.errors import IllegalState, JobNotFound
from duetime.model.actions.action import Action
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import Fail, Snooze
from duetime.model.clock import Clock
from duetime.model.recurrence.every import Every
from duetime.registry.context import Context

# A separate queue: on a real store the demo neither runs nor parks the actions of other apps.
QUEUE = "duetime-demo"
VISIT_INTERVAL_SECONDS = 0.4
# Figures are added to the store, and shown, with each sweep.
SWEEP_SECONDS = 2
Visit = Callable[[int], Awaitable[None]]
NAMES = ("ada", "grace", "linus", "mary", "alan", "edsger", "barbara")


class Work:
    """Takes the time that handlers need."""

    async def take(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True)
class SendMail:
    to: str


@dataclass(frozen=True)
class ResizeImage:
    image: str
    seconds: float


@dataclass(frozen=True)
class ChargeCard:
    order: int
    outages: int


@dataclass(frozen=True)
class CheckStock:
    order: int


@dataclass(frozen=True)
class TrackParcel:
    order: int
    arrives_at: datetime


@dataclass(frozen=True)
class SendReminder:
    to: str


@dataclass(frozen=True)
class PublishPost:
    title: str


@dataclass(frozen=True)
class CountStock:
    shelf: str


@dataclass(frozen=True)
class TidyShelves:
    seconds: float


async def send_mail(payload: SendMail, work: Work) -> str:
    await work.take(0.01)
    return f"mail to {payload.to} sent"


async def resize_image(payload: ResizeImage, ctx: Context, work: Work) -> str:
    for percent in (25, 50, 75):
        await work.take(payload.seconds / 4)
        await ctx.progress(f"{percent} %")
    await work.take(payload.seconds / 4)
    return f"{payload.image} resized"


async def charge_card(payload: ChargeCard, ctx: Context, work: Work) -> str:
    await work.take(0.1)
    if ctx.attempt <= payload.outages:
        raise ConnectionError("the bank does not answer")
    return f"order {payload.order} paid"


async def check_stock(payload: CheckStock) -> Fail:
    return Fail(f"order {payload.order} is sold out")


async def track_parcel(payload: TrackParcel, clock: Clock) -> str | Snooze:
    if clock.now() < payload.arrives_at:
        return Snooze(1.0)
    return f"parcel of order {payload.order} arrived"


async def send_reminder(payload: SendReminder) -> str:
    return f"{payload.to} reminded"


async def publish_post(payload: PublishPost) -> str:
    return f"{payload.title!r} is online"


class JobNames(NamedTuple):
    """The names of a demo's jobs, which differ from those of other demos on the same store."""

    count_stock: str
    tidy_shelves: str


def job_names(demo: str) -> JobNames:
    return JobNames(f"count-stock-{demo}", f"tidy-shelves-{demo}")


async def count_stock(payload: CountStock, ctx: Context) -> str:
    return f"{payload.shelf}: {ctx.action_id.int % 90 + 10} left"


async def tidy_shelves(payload: TidyShelves, work: Work) -> str:
    await work.take(payload.seconds)
    return "all shelves are tidy"


def make_shop(
    url: str, *, grace: float = 5, clock: Clock | None = None, work: Work | None = None
) -> Duetime:
    """Return an app with the handlers above. It prunes nothing: the store may be a real one."""
    keep = timedelta(days=36_500)
    app = Duetime(
        url,
        name="demo",
        environment="demo",
        clock=clock,
        grace=grace,
        sweep=SWEEP_SECONDS,
        retention=keep,
        retention_failed=keep,
    )
    app.provide(Work, lambda: work or Work())
    three_attempts = Retry(attempts=3, delay=0.7)
    app.handler(kind="send-mail", queue=QUEUE)(send_mail)
    app.handler(kind="resize-image", queue=QUEUE)(resize_image)
    app.handler(kind="charge-card", queue=QUEUE, retry=three_attempts)(charge_card)
    app.handler(kind="check-stock", queue=QUEUE)(check_stock)
    app.handler(kind="track-parcel", queue=QUEUE)(track_parcel)
    app.handler(kind="send-reminder", queue=QUEUE)(send_reminder)
    app.handler(kind="publish-post", queue=QUEUE)(publish_post)
    app.handler(kind="count-stock", queue=QUEUE)(count_stock)
    app.handler(kind="tidy-shelves", queue=QUEUE)(tidy_shelves)
    return app


@asynccontextmanager
async def open_hours(
    app: Duetime, names: JobNames, *, lasting: bool = False
) -> AsyncIterator[None]:
    """Create the shop's jobs, and unless they are lasting, remove them in the end; tidying takes
    longer than its interval.

    The jobs are put, not declared, so that they can be removed with the demo.
    """
    await app.jobs.put(names.count_stock, Every(seconds=3), payload=CountStock("teapots"))
    await app.jobs.put(names.tidy_shelves, Every(seconds=2), payload=TidyShelves(2.5))
    try:
        yield
    finally:
        if not lasting:
            await remove_jobs(app, names)


async def remove_jobs(app: Duetime, names: Iterable[str]) -> None:
    """Remove jobs, as far as nobody has removed them in the dashboard."""
    for name in names:
        with suppress(JobNotFound):
            await app.jobs.remove(name)


class Visitors:
    """Schedules, cancels and moves actions as visitors would, all with one correlation id."""

    def __init__(self, app: Duetime, correlation_id: str) -> None:
        self._app = app
        self._correlation_id = correlation_id
        self._orders = itertools.count(1)
        self._delayed: set[asyncio.Task[None]] = set()

    async def come(self) -> None:
        """Make one visit after another until cancelled."""
        try:
            for visit in itertools.cycle(self._visits()):
                await visit(next(self._orders))
                await asyncio.sleep(VISIT_INTERVAL_SECONDS)
        finally:
            for task in self._delayed:
                task.cancel()

    def _visits(self) -> tuple[Visit, ...]:
        return (
            self._mail,
            self._pay,
            self._picture,
            self._mail_later,
            self._remind_and_cancel,
            self._parcel,
            self._mail,
            self._publish_and_move,
            self._mail_later,
            self._sold_out,
        )

    async def _schedule(self, payload: object, delay: float = 0.0, **options: Any) -> Action:
        given = {"correlation_id": self._correlation_id, "by": "visitor", **options}
        return await self._app.schedule(payload, delay=delay, **given)

    async def _mail(self, order: int) -> None:
        await self._schedule(SendMail(_name(order)))

    async def _mail_later(self, order: int) -> None:
        await self._schedule(SendMail(_name(order)), delay=1 + order % 4)

    async def _pay(self, order: int) -> None:
        outages = (1, 2, 3, 0)[order // 10 % 4]
        await self._schedule(ChargeCard(order, outages))

    async def _picture(self, order: int) -> None:
        await self._schedule(ResizeImage(f"photo-{order}.jpg", seconds=2.4), delay=0.5)

    async def _parcel(self, order: int) -> None:
        arrives_at = self._app.clock.now() + timedelta(seconds=2.5)
        await self._schedule(TrackParcel(order, arrives_at))

    async def _sold_out(self, order: int) -> None:
        await self._schedule(CheckStock(order), delay=0.8)

    async def _remind_and_cancel(self, order: int) -> None:
        action = await self._schedule(SendReminder(_name(order)), delay=5)
        self._later(2.0, lambda: self._app.cancel(action.id, by=_name(order)))

    async def _publish_and_move(self, order: int) -> None:
        action = await self._schedule(PublishPost(f"News {order}"), delay=30)
        self._later(1.5, lambda: self._app.reschedule(action.id, delay=2.5, by=_name(order)))

    def _later(self, seconds: float, verb: Callable[[], Awaitable[object]]) -> None:
        async def delayed() -> None:
            await asyncio.sleep(seconds)
            with suppress(IllegalState):  # the action is running already
                await verb()

        task = asyncio.create_task(delayed())
        self._delayed.add(task)
        task.add_done_callback(self._delayed.discard)


def _name(order: int) -> str:
    return NAMES[order % len(NAMES)]
