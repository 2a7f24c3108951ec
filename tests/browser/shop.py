"""An app with something on every page, and its server."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar, get_args

import pytest

from browser.chromium import OpenTab, Tab
from duetime import ANY, Duetime, Retry
from duetime.model.notifications.event import NewEvent
from duetime.notifications import Message, Notifications
from duetime.notifications.links import LinkPurpose, make_token
from remote.serving import serving

T = TypeVar("T")

ROLE = "operators"
PAGER = "pager"
QUEUE, PAUSED_QUEUE = "billing/eu", "mail"
JOB = "nightly-close-day"
SOON = datetime(2130, 7, 31, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Parcel:
    order: int
    text: str = ""


@dataclass(frozen=True)
class Broken:
    """Its handler raises this text."""

    text: str


class Pager:
    """A transport that loses its messages."""

    async def send(self, message: Message) -> None: ...


@dataclass
class Shop:
    """An app, where its pages are served, and what is in it."""

    app: Duetime
    url: str
    address: str = ""
    key: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    def path(self, declared: str) -> str:
        """The path of a page: what was declared with an argument is about something of the shop."""
        known = self.arguments
        return re.sub(
            r"\{(\w+)(?::path)?\}",
            lambda name: known[declared] if declared in known else known[name[1]],
            declared,
        )

    def gather(self) -> None:
        """Make notifications of what has happened, as a worker would."""
        store = self.app.store
        store.perform_blocking(store.gather_events(lag=0, limit=1000))

    def drain(self) -> None:
        """Run what is due. Playwright runs a loop in the thread of the test."""
        in_another_thread(self.app.sync.testing.drain)


def make_app(url: str) -> Duetime:
    app = Duetime(
        url,
        name="shop",
        environment="staging",
        environment_color="amber",
        notifications=Notifications(transports={PAGER: Pager()}),
    )

    @app.handler(kind="parcel", queue=QUEUE)
    async def deliver(parcel: Parcel) -> str:
        return f"order {parcel.order} delivered"

    @app.handler(kind="broken", queue=QUEUE, retry=Retry(attempts=1))
    async def fail(broken: Broken) -> None:
        raise ValueError(broken.text)

    return app


def fill(shop: Shop) -> None:
    """Schedule, run, fail, pause: something for every page."""
    verbs = shop.app.sync
    shop.key = verbs.api_keys.create("ada", [ROLE], None).key
    for number in range(3):
        verbs.schedule(Broken(f"order {number} is gone"))
    failed = verbs.schedule(Broken("the bank is closed"), correlation_id="customer-7")
    done = verbs.schedule(Parcel(1), by="visitor")
    verbs.schedule(Parcel(2), after=done)
    verbs.jobs.put(JOB, "0 2 * * *", tz="Europe/Paris", payload=Parcel(3))
    shop.drain()
    for number in range(40):
        verbs.schedule(Parcel(number), at=SOON + timedelta(hours=number))
    verbs.queues.pause(PAUSED_QUEUE, by="max", note="provider down", until=SOON)
    verbs.schedule(Parcel(4), queue=PAUSED_QUEUE)
    shop.arguments = {"id": str(failed.id), "name": JOB} | notify(shop)


def notify(shop: Shop) -> dict[str, str]:
    """Let there be subscriptions and a notification; return what the links of messages prove."""
    verbs = shop.app.sync.notifications
    verbs.add("job-paused", in_app=True, tenant=ANY)
    paged = verbs.add("no-worker", via=PAGER, to="night watch", tenant=ANY)
    store, said = shop.app.store, {"job": JOB, "by": "max", "note": "provider down"}
    store.perform_blocking(store.add_events([NewEvent("job-paused", None, JOB, said)]))
    shop.gather()
    stored = store.perform_blocking(store.subscription(paged.id, ANY))
    purposes = get_args(LinkPurpose)
    return {f"/{purpose}/{{token}}": make_token(purpose, stored) for purpose in purposes}


@contextmanager
def shop_at(url: str) -> Iterator[Shop]:
    shop = Shop(make_app(url), url)
    fill(shop)
    with serving(shop.app.admin(admin_roles={ROLE})) as address:
        shop.address = address
        yield shop
    shop.app.sync.close()


@pytest.fixture(scope="module")
def sqlite_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop that tests of a file share: they only read."""
    with shop_at(f"sqlite:///{tmp_path_factory.mktemp('shop') / 'shop.db'}") as shop:
        yield shop


@pytest.fixture
def postgres_shop(postgres_url: str) -> Iterator[Shop]:
    with shop_at(postgres_url) as shop:
        yield shop


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """A shop of the test's own, on each database."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_shop")
        return
    with shop_at(f"sqlite:///{tmp_path / 'shop.db'}") as shop:
        yield shop


@pytest.fixture
def tab(open_tab: OpenTab, shop: Shop) -> Tab:
    """A tab of somebody who has signed in to the test's own shop."""
    return signed_in(open_tab(shop.address), shop)


def signed_in(tab: Tab, shop: Shop, key: str | None = None) -> Tab:
    page = tab.open("/sign-in")
    page.get_by_label("API key").or_(page.get_by_label("Clé d'API")).fill(key or shop.key)
    page.locator("main form button").click()
    page.wait_for_selector("nav")
    return tab


@contextmanager
def working(shop: Shop) -> Iterator[None]:
    """A worker of the shop, in a thread of its own."""
    started, ending = threading.Event(), threading.Event()

    async def work() -> None:
        async with shop.app.worker():
            started.set()
            await asyncio.to_thread(ending.wait)

    with ThreadPoolExecutor(1) as threads:
        worker = threads.submit(asyncio.run, work())
        try:
            assert started.wait(30)
            yield
        finally:
            ending.set()
            worker.result()


def in_another_thread(work: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()
