"""`duetime serve`: serves the HTTP API of an app, and runs its worker beside it."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.loading import either_app, load_app, required_app
from duetime.cli.open_store import explain_missing_tables, migrate_command_for
from duetime.cli.options import App, AppArgument
from duetime.cli.output import print_lines
from duetime.cli.worker import LogFormat, LogLevel, announce, log_to_stderr
from duetime.cli.worker_spec import WorkerSpec
from duetime.worker.event_loop import run_loop

if TYPE_CHECKING:
    from uvicorn import Server

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
    """Serve the HTTP API of an app until SIGTERM or Ctrl-C, and run its handlers."""
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
    server = make_server(served, host, port, admin_role or [])
    if worker:
        announce(served, spec)
    with explain_missing_tables(served, migrate_command_for(served, name, None)):
        run_loop(run(served, server, worker=worker))


def make_server(app: Duetime, host: str, port: int, admin_roles: list[str]) -> Server:
    try:
        from uvicorn import Config, Server
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
        timeout_graceful_shutdown=int(app.settings.grace),
    )
    return Server(config)


async def run(app: Duetime, server: Server, *, worker: bool) -> None:
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
            await server.serve()
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if not server.started:
        print_lines("the server could not start; its log says why", err=True)
        raise typer.Exit(1)
