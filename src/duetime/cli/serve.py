"""`duetime serve`: serves the HTTP API of an app, and runs its worker beside it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Annotated

import typer

from duetime.admin.identity.request_facts import LOCAL_NAMES
from duetime.admin.identity.sign_in import make_link
from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.loading import either_app, load_app, required_app
from duetime.cli.open_store import explain_missing_tables, migrate_command_for
from duetime.cli.options import App, AppArgument, os_user
from duetime.cli.output import print_lines
from duetime.cli.worker import LogFormat, LogLevel, announce, log_to_stderr
from duetime.cli.worker_spec import WorkerSpec
from duetime.errors import StoreUnavailable
from duetime.logs import get_log
from duetime.model.ids import TimeOrderedIds
from duetime.store.outage_log import OutageLog
from duetime.worker.event_loop import run_loop

if TYPE_CHECKING:
    from duetime.cli.web_server import Announce, WebServer

log = get_log("duetime.admin")

# Between two attempts to start the notifier.
RESTART_SECONDS = 1.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(
    app: AppArgument = None,
    app_option: App = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on.")] = 8000,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Run the app's handlers, too.")
    ] = True,
    admin_role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help="A role that may do everything. Repeatable."),
    ] = None,
    log_level: Annotated[LogLevel, typer.Option(help="How much to log.")] = LogLevel.info,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines for people, or a JSON document on each line.")
    ] = LogFormat.text,
) -> None:
    """Serve the HTTP API and the pages of an app until SIGTERM or Ctrl-C, and run its handlers."""
    name = required_app(either_app(app, app_option), "the API is that of an app")
    spec = WorkerSpec(
        app=name,
        concurrency=None,
        queues=None,
        log_level=log_level,
        log_format=log_format,
        alive_file=None,
        processes=1,
    )
    log_to_stderr(spec)
    served = load_app(name)
    announce_link = None
    if is_unconfigured(served, host, admin_role or []):
        announce_link = partial(print_link, served, log_format)
    server = make_server(served, host, port, admin_role or [], announce_link)
    if worker:
        announce(served, spec)
    with explain_missing_tables(served, migrate_command_for(served, name, None)):
        run_loop(run(served, server, worker=worker))


def is_unconfigured(app: Duetime, host: str, admin_roles: list[str]) -> bool:
    """Return whether only this machine can reach the server, and nothing says who may do what
    beyond the keys and grants in the store: then whoever started it gets in by a link."""
    settings = app.settings
    chosen = (admin_roles, settings.required_role, settings.base_url, settings.trusted_proxies)
    name = f"[{host}]" if ":" in host else host
    return name in LOCAL_NAMES and not any(chosen)


async def print_link(app: Duetime, log_format: LogFormat, address: str) -> None:
    """Print a one-time link that opens a session with all rights, on this machine only."""
    link = await sign_in_address(app, address)
    if link is None:
        return
    line = f"to sign in, open within 10 minutes, once: {link}"
    if log_format == LogFormat.json:
        log.info("%s", line)
    else:
        print_lines(line)


async def sign_in_address(app: Duetime, address: str) -> str | None:
    """Return the address of a new one-time link, below that of the server; None, which is logged,
    if the store is away."""
    try:
        text = await make_link(app.store, TimeOrderedIds(), os_user())
    except StoreUnavailable as error:
        log.warning("there is no one-time link to sign in with: %s", error)
        return None
    return f"{address}{app.settings.route_prefix}/sign-in?link={text}"


def make_server(
    app: Duetime,
    host: str,
    port: int,
    admin_roles: list[str],
    announce_link: Announce | None = None,
) -> WebServer:
    try:
        from uvicorn import Config

        from duetime.cli.web_server import WebServer
    except ImportError:
        raise CommandError(
            "duetime serve needs a web server: pip install 'duetime[server]'"
        ) from None
    config = Config(
        app.admin(admin_roles=admin_roles),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        lifespan="off",
        # Addresses come from the headers of trusted proxies only, as the setting says.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=ceil(app.settings.grace),
    )
    return WebServer(config, announce_link)


@asynccontextmanager
async def notifying(app: Duetime) -> AsyncIterator[None]:
    """Send notifications beside the server, as soon as the store is there."""
    task = asyncio.create_task(notify(app))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def notify(app: Duetime) -> None:
    outage = OutageLog(log, "notifier")
    while True:
        try:
            async with app.notifier():
                outage.recovered()
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - logged; a server goes on, and so must this
            outage.failed(error, exc_info=None if isinstance(error, StoreUnavailable) else error)
            await asyncio.sleep(RESTART_SECONDS)


async def run(app: Duetime, server: WebServer, *, worker: bool) -> None:
    """Serve until a signal; then the worker's running handlers may finish."""
    loop = asyncio.get_running_loop()
    # The server sends itself the signal again once it has stopped, and must not end the process
    # before the worker has.
    for number in SIGNALS:
        loop.add_signal_handler(number, lambda: None)
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(app)
            if worker:
                await stack.enter_async_context(app.worker())
            else:
                await stack.enter_async_context(notifying(app))
            await server.serve()
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if not server.started:
        print_lines("the server could not start; its log says why", err=True)
        raise typer.Exit(1)
