"""Trials of the dashboard: how long its pages take, and what they ask of a database, with a million
actions in it; and what many viewers of one page ask together."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from dashboard_filling import fill, names_of
from trial import Goal, Spot, Trial

from duetime.app import Duetime
from duetime.bench.figures import RoundFigures, percentile
from duetime.bench.work import make_app
from duetime.store.flow import Statement
from duetime.store.sql.drivers import Command
from duetime.store.sql.postgres.store import PostgresStore

ACTIONS = 1_000_000
ADMINISTRATORS = "administrators"
BASE = "http://localhost"
TIMES, WARM = 50, 3
VIEWERS, POLLED_EVERY, WATCHED_SECONDS = 20, 1.5, 10.0
PAGES = (
    *("/", "/?span=day", "/timeline", "/actions", "/actions?state=failed", "/actions?overdue=true"),
    *("/actions?group=error&state=failed", "/actions?kind=large&state=succeeded"),
    *("/actions?tenant=acme", "/actions/{id}", "/jobs", "/jobs/{name}", "/transitions"),
    *("/schedule", "/workers", "/queues", "/audit", "/alerts", "/settings"),
)
VIEWS = (
    *("now", "timeline", "actions", "action&id={id}", "jobs", "job&name={name}", "transitions"),
    *("workers", "queues", "alerts"),
)
SLOWEST, FIRST = "slowest", "first page with scripts and styles"
# What a page makes the browser load.
LOADED = re.compile(r'(?:src|href)="([^"]*/static/[^"]*)"')


class CountingStore(PostgresStore):
    """Counts the statements that it sends, without those that begin and end transactions."""

    statements = 0

    def _message(self, step: Statement | Command) -> tuple[bytes, Any]:
        self.statements += isinstance(step, Statement)
        return super()._message(step)


async def opened_pages(spot: Spot) -> RoundFigures:
    """Open every page many times, one after the other."""
    figures: dict[str, float] = {}
    async with filled(spot) as (store, browser, names):
        for page in PAGES:
            figures |= await times_of(page, page.format(**names), store, browser)
        figures |= await sizes(browser)
    for unit in ("p50 ms", "p99 ms"):
        figures[f"{SLOWEST} {unit}"] = max(figures[f"{page} {unit}"] for page in PAGES)
    return figures


async def times_of(
    page: str, path: str, store: CountingStore, browser: httpx.AsyncClient
) -> RoundFigures:
    taken, statements, size = [], 0, 0
    for number in range(WARM + TIMES):
        before, began = store.statements, time.perf_counter()
        size = len(await answer(browser, path))
        if number >= WARM:
            taken.append(1000 * (time.perf_counter() - began))
            statements += store.statements - before
    return {
        f"{page} p50 ms": statistics.median(taken),
        f"{page} p99 ms": percentile(taken, 0.99),
        f"{page} statements": statements / TIMES,
        f"{page} kB": size / 1000,
    }


async def sizes(browser: httpx.AsyncClient) -> RoundFigures:
    """Return how much the start page loads, uncompressed, and how much of that is code."""
    page = await answer(browser, "/")
    files = {path: len(await answer(browser, path)) for path in set(LOADED.findall(page.decode()))}
    code = sum(size for path, size in files.items() if path.endswith((".js", ".css")))
    whole = len(page) + sum(files.values())
    return {f"{FIRST} kB": whole / 1000, "scripts and styles kB": code / 1000}


async def viewers(spot: Spot) -> RoundFigures:
    """Let many browsers show a page for a while; before, let each view be shown once."""
    figures: dict[str, float] = {}
    async with filled(spot) as (store, browser, names):
        for view in VIEWS:
            path = f"/live?view={view.format(**names)}"
            await answer(browser, path)
            before = store.statements
            await asyncio.gather(*(watch(browser, path, n) for n in range(VIEWERS)))
            figures[f"{view} statements/s"] = (store.statements - before) / WATCHED_SECONDS
        before = store.statements
        await asyncio.sleep(2.0)
        figures["nobody looks statements/s"] = (store.statements - before) / 2.0
    figures[f"{SLOWEST} statements/s"] = max(figures[f"{view} statements/s"] for view in VIEWS)
    return figures


async def watch(browser: httpx.AsyncClient, path: str, number: int) -> None:
    """Ask as a tab does; not all ask at the same time."""
    until = time.perf_counter() + WATCHED_SECONDS
    await asyncio.sleep(POLLED_EVERY * number / VIEWERS)
    while time.perf_counter() < until:
        await answer(browser, path)
        await asyncio.sleep(POLLED_EVERY)


async def answer(browser: httpx.AsyncClient, path: str) -> bytes:
    response = await browser.get(path)
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}: {response.text[:200]}")
    return response.content


# -- a filled store and a browser ------------------------------------------------------------------


@asynccontextmanager
async def filled(
    spot: Spot,
) -> AsyncIterator[tuple[CountingStore, httpx.AsyncClient, dict[str, str]]]:
    """Yield a store with a million actions, a browser of an administrator, and the names of an
    action and of a job."""
    store = CountingStore(spot.url)
    async with make_app(url=spot.url, store=store) as app:
        await fill(app, spot.url, spot.count(ACTIONS))
        async with administrator(app) as browser:
            yield store, browser, await names_of(app)


@asynccontextmanager
async def administrator(app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    """Sign in by a key, as people do."""
    key = (await app.api_keys.create("bench", [ADMINISTRATORS])).key
    transport = httpx.ASGITransport(app.admin(admin_roles={ADMINISTRATORS}))
    own_origin = {"sec-fetch-site": "same-origin"}
    async with httpx.AsyncClient(
        transport=transport, base_url=BASE, headers=own_origin, timeout=60
    ) as browser:
        form = await answer(browser, "/sign-in")
        fields = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', form.decode()))
        signed_in = await browser.post("/sign-in", data=fields | {"key": key})
        if signed_in.status_code != 303:
            raise RuntimeError(f"signing in answered {signed_in.status_code}")
        yield browser


OURS = "duetime"
PAGES_TRIAL = Trial(
    "pages",
    "every page of the dashboard 50 times, beside a million actions",
    {OURS: opened_pages},
    [
        Goal("median at most 100 ms", (OURS, f"{SLOWEST} p50 ms"), 100, most=True),
        Goal("p99 at most 300 ms", (OURS, f"{SLOWEST} p99 ms"), 300, most=True),
        Goal("first page at most 100 kB", (OURS, f"{FIRST} kB"), 100, most=True),
        Goal("scripts and styles at most 60 kB", (OURS, "scripts and styles kB"), 60, most=True),
    ],
    rounds=1,
)
VIEWERS_TRIAL = Trial(
    "viewers",
    "20 viewers of each page for 10 s, beside a million actions",
    {OURS: viewers},
    [
        Goal("at most one statement/s", (OURS, f"{SLOWEST} statements/s"), 1, most=True),
        Goal("none when nobody looks", (OURS, "nobody looks statements/s"), 0, most=True),
    ],
    rounds=1,
)
TRIALS = [PAGES_TRIAL, VIEWERS_TRIAL]
