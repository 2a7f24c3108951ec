"""`duetime worker`: runs an app's handlers."""

from __future__ import annotations

import asyncio
import logging
import sys
from enum import StrEnum
from typing import Annotated

import typer

from duetime.app import Duetime
from duetime.cli.loading import load_app, module_and_path
from duetime.cli.open_store import explain_missing_tables, migrate_command_for
from duetime.cli.output import print_lines
from duetime.cli.worker_spec import WorkerSpec
from duetime.logs import LineFormatter
from duetime.model.store_url import mask_password
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.slots import Queues
from duetime.worker.event_loop import run_loop


class LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def worker(
    app: Annotated[
        str, typer.Argument(metavar="MODULE:APP", help="The app, such as myshop.main:app.")
    ],
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Slots; default: the app's setting, 100.")
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=SLOTS]",
            help="NAME: serve only the named queues. NAME=SLOTS: give that queue slots of its "
            "own; all others share the concurrency. Repeatable.",
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Worker processes, each with slots of its own.")
    ] = 1,
    log_level: Annotated[LogLevel, typer.Option(help="How much to log.")] = LogLevel.info,
) -> None:
    """Run an app's handlers until SIGTERM or Ctrl-C; running handlers may finish."""
    spec = WorkerSpec(app, concurrency, parse_queues(queue or []), log_level, processes)
    log_to_stderr(log_level)
    if processes > 1:
        raise typer.Exit(supervise(spec))
    target = load_app(app)
    announce(target, spec)
    with explain_missing_tables(target, migrate_command_for(target, app, None)):
        run_loop(target.run(concurrency=concurrency, queues=spec.queues))


def supervise(spec: WorkerSpec) -> int:
    module_and_path(spec.app)
    from duetime.cli.supervisor import Supervisor

    async def run() -> int:
        return await Supervisor(spec).run()

    return asyncio.run(run())


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler])


def announce(app: Duetime, spec: WorkerSpec) -> None:
    print_lines(start_line(app, spec.concurrency, spec.queues, spec.processes))
    for warning in warnings(app):
        print_lines(f"warning: {warning}", err=True)


def parse_queues(options: list[str]) -> Queues:
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


def start_line(app: Duetime, concurrency: int | None, queues: Queues, processes: int = 1) -> str:
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


def warnings(app: Duetime) -> list[str]:
    """Warnings about settings that are allowed but rarely intended."""
    found = []
    if not app.runtime.handlers.kinds():
        found.append("this app declares no handlers: due actions will be parked")
    if isinstance(app.store, MemoryStore):
        found.append(
            "memory:// is visible to this process only: other processes cannot schedule here"
        )
    return found
