"""`duetime transitions`: shows row transitions and applies them by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer
from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.app import Duetime
from duetime.cli.loading import load_app, required_app
from duetime.cli.open_store import open_app
from duetime.cli.options import App, By, Json, Note, Url, actor
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.server import chosen_server, has_store
from duetime.cli.tables import print_page
from duetime.cli.times import now, shown
from duetime.model.act import acting_from
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.transition import UNSET, ParkedRow, Pending, Report, TransitionView

T = TypeVar("T")
Model = Annotated[
    str | None, typer.Argument(metavar="[MODEL]", help="The name of the model; default: all.")
]
Column = Annotated[str | None, typer.Argument(metavar="[COLUMN]", help="One column of it.")]

cli = typer.Typer(no_args_is_help=True, help="Look at row transitions and apply them by hand.")


@cli.command("list")
def list_(app: App = None, json: Json = False) -> None:
    """List the transitions that the app registers."""
    with _opened(app) as target:
        views = target.sync.transitions.list()
    if json:
        print_json({"items": [_document(view) for view in views]})
        return
    _print(["transition", "table", "does", "index"], [_view_row(view) for view in views])


@cli.command("pending")
def pending(app: App = None, json: Json = False) -> None:
    """Show how many rows are due, when the next are due, and how many failed."""
    found = _run(app, lambda target: target.transitions.pending())
    if json:
        print_json(to_jsonable_python({"items": [asdict(item) for item in found]}))
        return
    rows = [_pending_row(item) for item in found]
    _print(["transition", "due", "next", "retrying", "parked"], rows)


@cli.command("sweep")
def sweep(
    parked: Annotated[
        bool, typer.Option("--parked", help="Also try failed rows, regardless of their backoff.")
    ] = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    json: Json = False,
) -> None:
    """Apply all transitions that are due now, in batches. Exits with 1 if a row fails."""
    report = _run(
        app,
        lambda target: target.transitions.drain(parked=parked, by=actor(target, by), note=note),
    )
    if json:
        print_json(to_jsonable_python(asdict(report), fallback=str))
    else:
        print_lines(_summary(report))
    report.check()


@cli.command("parked")
def parked(
    model: Model = None,
    column: Column = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    app: App = None,
    json: Json = False,
) -> None:
    """List rows that failed for good: until they get a new time, or are retried."""
    page = _run(
        app,
        lambda target: target.transitions.parked(model, column, limit=limit, cursor=cursor),
    )
    if json:
        items = [asdict(row) for row in page]
        document = {"items": items, "next_cursor": page.next_cursor}
        print_json(to_jsonable_python(document, fallback=str))
        return
    print_page(page, lambda rows, _: _parked_table(rows), "no rows are parked")


@cli.command("retry")
def retry(
    model: Model = None,
    column: Column = None,
    all_: Annotated[bool, typer.Option("--all", help="Retry the rows of all models.")] = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    json: Json = False,
) -> None:
    """Let parked rows be tried again at once: of a model, of one column, or with --all, all."""
    if (model is None) != all_:
        raise typer.BadParameter("give the MODEL whose rows to retry, or --all")
    count = _run(
        app,
        lambda target: target.transitions.retry(model, column, by=actor(target, by), note=note),
    )
    if json:
        print_json({"retried": count})
        return
    print_lines(f"retried: {count} row{'' if count == 1 else 's'}")


@cli.command("report")
def report(app: App = None, url: Url = None, json: Json = False) -> None:
    """Show the last report that the app's sweeps have kept in the store."""
    with open_app(app, url) as target:
        kept = target.sync.transitions.last_report()
    if json:
        print_json(None if kept is None else to_jsonable_python(asdict(kept)))
        return
    if kept is None:
        print_lines("no report yet: a sweep keeps one when it changes a row, or fails to")
        return
    print_lines(f"{kept.app}, {shown(kept.at, now())}, by {kept.worker}", _summary(kept.report))
    print_lines(*(f"  {error}" for error in kept.report.errors))


def _parked_table(rows: Sequence[ParkedRow]) -> Table:
    names = ["transition", "id", "due", "attempts", "error"]
    cells = [
        [f"{row.model}.{row.column}", str(row.id), shown(row.due_at, now()), str(row.attempts)]
        for row in rows
    ]
    lines = zip(cells, rows, strict=True)
    return _table(names, [[*line, row.error] for line, row in lines])


def _load(app: str | None) -> Duetime:
    """Load the app. It is required: transitions are declared in code, not in a store. The app of
    a server has its own."""
    server = chosen_server()
    if server is None:
        return load_app(required_app(app, "an app registers transitions"))
    if app is not None:
        raise typer.BadParameter("give --server alone: it has its own app and store")
    return server.connect()


@contextmanager
def _opened(app: str | None) -> Iterator[Duetime]:
    target = _load(app)
    try:
        yield target
    finally:
        target.sync.close()


def _run(app: str | None, verb: Callable[[Duetime], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            with acting_from("cli"):
                return await verb(target)
        finally:
            if has_store(target):
                await target.transitions.aclose()
            await target.aclose()

    target = _load(app)
    return asyncio.run(run())


def _print(names: list[str], rows: list[list[str]]) -> None:
    if not rows:
        print_lines("no transitions: the app registers none")
        return
    make_console().print(_table(names, rows))


def _table(names: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(safe_cell, row))
    return table


def _view_row(view: TransitionView) -> list[str]:
    return [f"{view.model}.{view.column}", view.table, view.words(), view.index]


def _document(view: TransitionView) -> object:
    values = {name: value for name, value in asdict(view).items() if value is not UNSET}
    return to_jsonable_python(values, fallback=str)


def _pending_row(item: Pending) -> list[str]:
    counts = [str(item.retrying), str(item.parked)]
    return [f"{item.model}.{item.column}", str(item.due), shown(item.next_due, now()), *counts]


def _summary(report: Report) -> str:
    counts = ("updated", "deleted", "skipped", "failed")
    return ", ".join(f"{name} {getattr(report, name)}" for name in counts)
