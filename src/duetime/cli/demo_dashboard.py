"""The demo with a dashboard: a shop that lives, and its pages on a port of this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import webbrowser
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from duetime.app import Duetime
from duetime.cli.demo_past import live_past_day
from duetime.cli.demo_run import first_of, on_signal, running
from duetime.cli.demo_shop import job_names, open_hours
from duetime.cli.demo_world import (
    QUEUES,
    Customers,
    make_world,
    open_world,
    watch_health,
    world_jobs,
)
from duetime.cli.failures import CommandError
from duetime.cli.output import print_lines
from duetime.cli.serve import make_server, sign_in_address
from duetime.cli.web_server import WebServer

SLOTS = 20
HOST = "127.0.0.1"
DISCARDING = logging.NullHandler()
PREPARING = "the shop lives through the past day, which takes a moment ..."
ENDING = "Stopping: nothing new is scheduled, and running actions may finish."


def show_in_dashboard(url: str, port: int, seconds: float | None, *, is_temporary: bool) -> None:
    """Serve the dashboard of the shop until Ctrl-C, or for so many seconds. Only a temporary store
    is given a past, which in a store of others would be a false one."""
    with quiet_failures():
        if is_temporary:
            print_lines(PREPARING)
            asyncio.run(live_past_day(url))
        app = make_world(url)
        if is_temporary:
            watch_health(app)
        server = make_server(app, HOST, port, [], lambda address: welcome(app, address))
        demo = None if is_temporary else uuid4().hex[-6:]
        asyncio.run(serve_world(app, server, demo, seconds))
    print_lines("finished")


async def serve_world(
    app: Duetime, server: WebServer, demo: str | None, seconds: float | None
) -> None:
    """Serve, work and live until a signal arrives, the time is up, or one of them fails."""
    stop = asyncio.Event()
    async with on_signal(stop.set), AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await enter(app)
        await enter(with_offers(app))
        correlation_id = f"demo-{uuid4()}"
        await enter(open_hours(app, job_names(demo or "shop"), lasting=demo is None))
        await enter(open_world(app, world_jobs(demo), correlation_id, lasting=demo is None))
        await enter(app.worker(concurrency=SLOTS, queues=[*QUEUES]))
        visitors = await enter(running(Customers(app, correlation_id).come()))
        serving = await enter(served(server))
        stopped = await enter(running(stop.wait()))
        await first_of({serving, stopped, visitors}, seconds)
        print_lines(ENDING)


@asynccontextmanager
async def served(server: WebServer) -> AsyncIterator[asyncio.Task[None]]:
    """Serve for the duration of the block; Ctrl-C ends the server's task before."""
    task = asyncio.create_task(_serve(server))
    try:
        yield task
    finally:
        server.should_exit = True
        await asyncio.wait({task})


async def _serve(server: WebServer) -> None:
    """Raises CommandError where the server would end the process, amid all that runs beside it."""
    try:
        await server.serve()
    except SystemExit:
        port = server.config.port
        raise CommandError(f"the dashboard cannot listen on port {port}: give another") from None


@asynccontextmanager
async def with_offers(app: Duetime) -> AsyncIterator[None]:
    """Rows that change at their time, where SQLAlchemy is installed."""
    if find_spec("sqlalchemy") is None:
        print_lines("the page Transitions stays empty: pip install 'duetime[sqlalchemy]'")
        yield
        return
    from duetime.cli.demo_offers import open_offers

    with TemporaryDirectory(prefix="duetime-demo-") as folder:
        async with open_offers(app, Path(folder)):
            yield


async def welcome(app: Duetime, address: str) -> None:
    """Print how to sign in, and open a browser if there is one."""
    link = await sign_in_address(app, address)
    print_lines(
        "",
        "The shop's dashboard, with all rights, opens within 10 minutes, once:",
        f"    {link}",
        "",
        "Ctrl-C ends the demo. `duetime demo --terminal` shows it in a terminal.",
    )
    if link is not None and has_browser():
        await asyncio.to_thread(webbrowser.open, link)


def has_browser() -> bool:
    """Return whether somebody looks at this terminal who has a display, and a browser on it: none
    that would take the terminal, and none in tests."""
    if not sys.stdout.isatty() or {"CI", "PYTEST_CURRENT_TEST"} & os.environ.keys():
        return False
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    return type(browser) is not webbrowser.GenericBrowser


@contextmanager
def quiet_failures() -> Iterator[None]:
    """Keep off the terminal which runs and rows fail: the dashboard is to show them."""
    loggers = [logging.getLogger(name) for name in ("duetime.worker", "duetime.transitions")]
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(DISCARDING)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, propagated in zip(loggers, before, strict=True):
            logger.propagate = propagated
            logger.removeHandler(DISCARDING)
