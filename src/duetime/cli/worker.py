"""`duetime worker`: runs an app's handlers."""

from __future__ import annotations

import asyncio
import logging
import sys
from enum import StrEnum
from typing import Annotated

import typer

from duetime.app import Duetime
from duetime.cli.alive import touching
from duetime.cli.loading import either_app, load_app, module_and_path, required_app
from duetime.cli.metrics_port import SummedMetrics, metrics_port
from duetime.cli.open_store import explain_missing_tables, migrate_command_for
from duetime.cli.options import App, AppArgument
from duetime.cli.output import print_lines
from duetime.cli.worker_spec import WorkerSpec
from duetime.errors import did_you_mean
from duetime.logs import JsonFormatter, LineFormatter, RunFilter, get_log
from duetime.model.store_url import mask_password
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.slots import QueuesArgument
from duetime.worker.event_loop import run_loop

log = get_log("duetime.worker")


class LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class LogFormat(StrEnum):
    text = "text"
    json = "json"


QueueOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=SLOTS]",
        help="NAME: serve only the named queues. NAME=SLOTS: give that queue slots of its "
        "own; all others share the concurrency. Repeatable.",
    ),
]
AliveFileOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Renew this file every few seconds while all event loops turn, for "
        "`duetime alive FILE`.",
    ),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(min=1, max=65_535, help="Serve the metrics of all processes to Prometheus here."),
]
MetricsHostOption = Annotated[str, typer.Option(help="The address that --metrics-port listens on.")]


def worker(
    app: AppArgument = None,
    app_option: App = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Slots; default: the app's setting, 100.")
    ] = None,
    queue: QueueOption = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Worker processes, each with slots of its own.")
    ] = 1,
    log_level: Annotated[LogLevel, typer.Option(help="How much to log.")] = LogLevel.info,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines for people, or a JSON document on each line.")
    ] = LogFormat.text,
    alive_file: AliveFileOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = "127.0.0.1",
) -> None:
    """Run an app's handlers until SIGTERM or Ctrl-C; running handlers may finish."""
    spec = WorkerSpec(
        app=required_app(either_app(app, app_option), "a worker runs the handlers of an app"),
        concurrency=concurrency,
        queues=parse_queues(queue or []),
        log_level=log_level,
        log_format=log_format,
        alive_file=alive_file,
        processes=processes,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
    )
    log_to_stderr(spec)
    if processes > 1:
        raise typer.Exit(supervise(spec))
    work(spec)


def work(spec: WorkerSpec) -> None:
    """Run one worker in this process."""
    app = load_app(spec.app)
    announce(app, spec)
    hint = migrate_command_for(app, spec.app, None)
    with explain_missing_tables(app, hint), metrics_port(spec):
        run_loop(_run(app, spec))


async def _run(app: Duetime, spec: WorkerSpec) -> None:
    async with touching(spec.alive_file):
        await app.run(concurrency=spec.concurrency, queues=spec.queues)


def supervise(spec: WorkerSpec) -> int:
    module_and_path(spec.app)
    from duetime.cli.supervisor import Supervisor

    summed = SummedMetrics()

    async def run() -> int:
        return await Supervisor(spec, summed).run()

    with metrics_port(spec, summed):
        return asyncio.run(run())


def log_to_stderr(spec: WorkerSpec) -> None:
    handler = logging.StreamHandler(sys.stderr)
    lines = LineFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if spec.log_format == LogFormat.json else lines)
    handler.addFilter(RunFilter())
    logging.basicConfig(level=spec.log_level.upper(), handlers=[handler])


def announce(app: Duetime, spec: WorkerSpec) -> None:
    """Say what is served: on the terminal, or in the log if that is for machines, which read every
    line of a container as JSON."""
    line = start_line(app, spec.concurrency, spec.queues, spec.processes)
    found = warnings(app, spec.queues)
    if spec.log_format == LogFormat.json:
        log.info("%s", line)
        for warning in found:
            log.warning("%s", warning)
        return
    print_lines(line)
    for warning in found:
        print_lines(f"warning: {warning}", err=True)


def parse_queues(options: list[str]) -> QueuesArgument:
    """Return names, `["a", "b"]`, or slots, `{"a": 5}`; a mix of the two is refused."""
    if not options:
        return None
    pairs = [text.partition("=") for text in options]
    if not any(equals for _, equals, _ in pairs):
        return options
    if not all(equals for _, equals, _ in pairs):
        raise typer.BadParameter(
            "give slots to every --queue (all other queues share the rest) or to none (only "
            "the named queues are served)"
        )
    return {name: _slots(name, number) for name, _, number in pairs}


def _slots(name: str, number: str) -> int:
    if not number.isdecimal() or int(number) < 1:
        raise typer.BadParameter(f"--queue {name}={number}: write a number of slots, at least 1")
    return int(number)


def start_line(
    app: Duetime, concurrency: int | None, queues: QueuesArgument, processes: int = 1
) -> str:
    slots = concurrency or app.settings.concurrency
    served = f"all queues ({slots} slots)"
    if isinstance(queues, dict):
        own = ", ".join(f"{name} ({number})" for name, number in queues.items())
        served = f"queues {own}, all others ({slots} slots)"
    elif queues is not None:
        served = f"queues {', '.join(queues)} only ({slots} slots)"
    kinds = ", ".join(app.runtime.handlers.kinds()) or "none"
    each = f", {processes} processes each" if processes > 1 else ""
    return f"duetime worker on {mask_password(app.settings.url)}{each}: {served}; kinds: {kinds}"


def warnings(app: Duetime, queues: QueuesArgument = None) -> list[str]:
    """Warnings about settings that are allowed but rarely intended."""
    found = []
    if not app.runtime.handlers.kinds():
        found.append("this app declares no handlers: due actions will be parked")
    if isinstance(app.store, MemoryStore):
        found.append(
            "memory:// is visible to this process only: other processes cannot schedule here"
        )
    declared = app.runtime.handlers.queues()
    for name in sorted(set(queues or ()) - declared):
        found.append(
            f"no handler declares the queue {name!r}{did_you_mean(name, declared)}: it is served "
            "for actions that are scheduled with queue="
        )
    return found
