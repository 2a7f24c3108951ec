"""`duetime transitions`: look at row transitions, and apply them by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer
from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.app import Duetime
from duetime.cli import tables
from duetime.cli.documents import emit
from duetime.cli.failures import Mistake
from duetime.cli.loading import load_app
from duetime.cli.options import App, Json
from duetime.cli.times import now, shown
from duetime.model.transition import UNSET, Pending, Report, TransitionView

T = TypeVar("T")

cli = typer.Typer(no_args_is_help=True, help="Look at row transitions, and apply them by hand.")


@cli.command("list")
def list_(app: App = None, json: Json = False) -> None:
    """List the transitions that the app registers."""
    found = _named(app).transitions.list()
    if json:
        emit({"items": [_document(one) for one in found]})
        return
    _print(["transition", "table", "does", "index"], [_listed(one) for one in found])


@cli.command("pending")
def pending(app: App = None, json: Json = False) -> None:
    """Show how many rows are due, when the next ones are, and how many failed."""
    found = _done(_named(app), lambda target: target.transitions.pending())
    if json:
        emit(to_jsonable_python({"items": [asdict(one) for one in found]}))
        return
    _print(["transition", "due", "next", "retrying", "parked"], [_waiting(one) for one in found])


@cli.command("sweep")
def sweep(
    parked: Annotated[
        bool, typer.Option("--parked", help="Try rows that failed too, whatever their backoff.")
    ] = False,
    app: App = None,
    json: Json = False,
) -> None:
    """Apply all that is due now, batch after batch. Exits with 1 if a row fails."""
    report = _done(_named(app), lambda target: target.transitions.drain(parked=parked))
    if json:
        emit(to_jsonable_python(asdict(report), fallback=str))
    else:
        typer.echo(_told(report))
    report.check()


def _named(app: str | None) -> Duetime:
    """Transitions are declared in code: there is nothing to see in a store alone."""
    if app is None:
        raise Mistake("transitions are registered by an app: name it with --app module:app")
    return load_app(app)


def _done(target: Duetime, verb: Callable[[Duetime], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            return await verb(target)
        finally:
            await target.transitions.aclose()
            await target.aclose()

    return asyncio.run(run())


def _print(names: list[str], rows: list[list[str]]) -> None:
    if not rows:
        typer.echo("no transitions: the app registers none")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    tables.make_console().print(table)


def _listed(one: TransitionView) -> list[str]:
    return [f"{one.model}.{one.column}", one.table, one.words(), one.index]


def _document(one: TransitionView) -> object:
    values = {name: value for name, value in asdict(one).items() if value is not UNSET}
    return to_jsonable_python(values, fallback=str)


def _waiting(one: Pending) -> list[str]:
    counts = [str(one.retrying), str(one.parked)]
    return [f"{one.model}.{one.column}", str(one.due), shown(one.next_due, now()), *counts]


def _told(report: Report) -> str:
    counts = ("updated", "deleted", "skipped", "failed")
    return ", ".join(f"{name} {getattr(report, name)}" for name in counts)
