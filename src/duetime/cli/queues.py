"""`duetime queues`: look at queues, pause and resume them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table

from duetime.cli.documents import plain_document
from duetime.cli.hints import queue_hint
from duetime.cli.open_store import open_app
from duetime.cli.options import App, By, Json, Note, Url, actor
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, parse_coming, shown
from duetime.model.health.queues import PausedQueue, Queue
from duetime.model.validation import amount

cli = typer.Typer(no_args_is_help=True, help="Look at queues, pause and resume them.")

QueueName = Annotated[str, typer.Argument(metavar="NAME", help="The queue's name.")]


@cli.command("list")
def list_(app: App = None, url: Url = None, json: Json = False) -> None:
    """List queues with their pauses, and with the unfinished actions of all tenants."""
    with open_app(app, url) as target:
        queues = target.sync.queues.list()
    if json:
        print_json({"items": [plain_document(queue) for queue in queues]})
    elif queues:
        make_console().print(_table(queues, now()))
    else:
        print_lines("no queue has unfinished actions, is paused or is named by a worker")


@cli.command("pause")
def pause(
    name: QueueName,
    note: Note = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=parse_coming,
            metavar="TIME",
            help="Resume by itself at this instant in ISO 8601, or after so long, such as 2h.",
        ),
    ] = None,
    by: By = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Start nothing more of a queue; what runs goes on, and what becomes due waits."""
    with open_app(app, url) as target:
        paused = target.sync.queues.pause(name, note=note, until=until, by=actor(target, by))
        hint = "" if paused.served_by else queue_hint(target, name)
    if json:
        print_json(plain_document(paused))
        return
    print_lines(*_pause_lines(paused, hint))


@cli.command("resume")
def resume(
    name: QueueName,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Let workers start actions of a paused queue again."""
    with open_app(app, url) as target:
        resumed = target.sync.queues.resume(name, by=actor(target, by), note=note)
    if json:
        print_json({"name": name, "resumed": resumed})
        return
    print_lines(f"resumed: {name}" if resumed else f"not paused: {name}; nothing has changed")


def _pause_lines(paused: PausedQueue, hint: str) -> Iterator[str]:
    until = "" if paused.paused_until is None else f", until {shown(paused.paused_until, now())}"
    yield f"paused: {paused.name}{until}"
    if not paused.served_by:
        yield f"no living worker serves this queue{hint}"
    if paused.ignored_by:
        workers = ", ".join(paused.ignored_by)
        yield f"these workers run an older duetime, which does not know pauses: {workers}"


def _table(queues: Sequence[Queue], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("queue", "scheduled", "running", "overdue", "oldest", "paused", "note"):
        counted = name in ("scheduled", "running", "overdue")
        table.add_column(name, justify="right" if counted else "left", overflow="fold")
    for queue in queues:
        table.add_row(*map(safe_cell, _row(queue, at)))
    return table


def _row(queue: Queue, at: datetime) -> list[str]:
    oldest = "" if queue.oldest_overdue is None else amount(round(queue.oldest_overdue))
    counts = [f"{number:,}" for number in (queue.scheduled, queue.running, queue.overdue)]
    return [queue.name, *counts, oldest, _pause_text(queue, at), queue.pause_note or ""]


def _pause_text(queue: Queue, at: datetime) -> str:
    if queue.paused_at is None:
        return "no"
    until = "" if queue.paused_until is None else f", until {shown(queue.paused_until, at)}"
    return f"by {queue.paused_by} since {shown(queue.paused_at, at)}{until}"
