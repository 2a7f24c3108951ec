"""`duetime transitions`: shows row transitions and applies them by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer
from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.loading import load_app
from duetime.cli.options import App, Json
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, shown
from duetime.model.transition import UNSET, Pending, Report, TransitionView

T = TypeVar("T")

cli = typer.Typer(no_args_is_help=True, help="Look at row transitions and apply them by hand.")


@cli.command("list")
def list_(app: App = None, json: Json = False) -> None:
    """List the transitions that the app registers."""
    views = _load(app).transitions.list()
    if json:
        print_json({"items": [_document(view) for view in views]})
        return
    _print(["transition", "table", "does", "index"], [_view_row(view) for view in views])


@cli.command("pending")
def pending(app: App = None, json: Json = False) -> None:
    """Show how many rows are due, when the next are due, and how many failed."""
    found = _run(_load(app), lambda target: target.transitions.pending())
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
    app: App = None,
    json: Json = False,
) -> None:
    """Apply all transitions that are due now, in batches. Exits with 1 if a row fails."""
    report = _run(_load(app), lambda target: target.transitions.drain(parked=parked))
    if json:
        print_json(to_jsonable_python(asdict(report), fallback=str))
    else:
        print_lines(_summary(report))
    report.check()


def _load(app: str | None) -> Duetime:
    """Load the app. It is required: transitions are declared in code, not in a store."""
    if app is None:
        raise CommandError("transitions are registered by an app: name it with --app module:app")
    return load_app(app)


def _run(target: Duetime, verb: Callable[[Duetime], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            return await verb(target)
        finally:
            await target.transitions.aclose()
            await target.aclose()

    return asyncio.run(run())


def _print(names: list[str], rows: list[list[str]]) -> None:
    if not rows:
        print_lines("no transitions: the app registers none")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(safe_cell, row))
    make_console().print(table)


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
