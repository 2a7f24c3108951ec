"""`duetime workers`: the workers that are alive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table

from duetime.cli.documents import plain_document
from duetime.cli.open_store import open_app
from duetime.cli.options import App, Json, Url
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, shown
from duetime.model.health.stats import LivingWorker


def workers(app: App = None, url: Url = None, json: Json = False) -> None:
    """List the living workers of all apps."""
    with open_app(app, url) as target:
        living = target.sync.workers.list()
    if json:
        print_json({"items": [plain_document(worker) for worker in living]})
    elif living:
        make_console().print(_table(living, now()))
    else:
        print_lines("no worker is alive: start one with `duetime worker module:app`")


def _table(living: Sequence[LivingWorker], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("worker", "app", "version", "started", "slots", "queues", "kinds", "seen"):
        table.add_column(name, overflow="fold")
    table.add_column("problems", overflow="fold")
    for worker in living:
        table.add_row(*map(safe_cell, _row(worker, at)))
    return table


def _row(worker: LivingWorker, at: datetime) -> list[str]:
    return [
        worker.id,
        worker.app,
        worker.version or "older",
        shown(worker.started_at, at),
        slots_text(worker),
        ", ".join(worker.queues) or "all",
        ", ".join(worker.kinds) or "none",
        shown(worker.seen_at, at),
        ", ".join(worker.health.problems) or "none",
    ]


def slots_text(worker: LivingWorker) -> str:
    """The slots in use, of all; workers of older code tell only how many they have."""
    if worker.slots_used is None:
        return str(worker.concurrency)
    return f"{worker.slots_used} of {worker.slots}"
