"""`duetime timeline`: what ran, what is scheduled and what will tick, on one axis."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from duetime.cli.documents import plain_document
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, Json, Tenant, Url, scope
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.tables import colored_state
from duetime.cli.times import milliseconds, now, parse_coming, parse_past, shown
from duetime.model.timeline import MAX_LIMIT, Timeline, TimelineAction

DEFAULT_SINCE, DEFAULT_UNTIL = timedelta(hours=1), timedelta(hours=24)
# Ticks of one job that the table shows; the others are counted.
TICKS_SHOWN = 3


class Row(NamedTuple):
    """A row of the table at its place in time."""

    at: datetime
    what: Text
    name: str
    queue: str
    detail: str


def timeline(
    since: Annotated[
        datetime | None,
        typer.Option(parser=parse_past, metavar="TIME", help="The start; default: 1h ago."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(parser=parse_coming, metavar="TIME", help="The end; default: 24h ahead."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_LIMIT, help="How many runs, actions and jobs.")
    ] = 50,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show what ran, what is scheduled and which jobs will tick, in the order of time."""
    start = since or now() - DEFAULT_SINCE
    end = until or now() + DEFAULT_UNTIL
    if start >= end:
        raise typer.BadParameter("the end must be after the start: --since 1h --until 24h")
    with open_app(app, url) as target:
        found = target.sync.timeline(start, end, limit=limit, tenant=scope(tenant, any_tenant))
    if json:
        print_json(plain_document(found))
        return
    make_console().print(_table(found))
    print_lines(*_notes(found, limit))


def _table(found: Timeline) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("when", "what", "kind or job", "queue", "detail"):
        table.add_column(name, no_wrap=name in ("when", "what"), overflow="fold")
    rows = sorted(_rows(found), key=lambda row: row.at)
    for row in rows:
        cells = (safe_cell(text) for text in (row.name, row.queue, row.detail))
        table.add_row(shown(row.at, found.at), row.what, *cells)
    return table


def _rows(found: Timeline) -> Iterator[Row]:
    if found.start <= found.at < found.end:
        yield Row(found.at, Text("now", style="bold"), "", "", "")
    for action in found.ran:
        at = action.finished_at or found.at
        what = colored_state(action.state)
        yield Row(at, what, action.kind, action.queue, f"{_took(action)}{action.id}")
    for action in found.scheduled:
        at = action.started_at or action.due_at or found.at
        yield Row(at, colored_state(action.state), action.kind, action.queue, str(action.id))
    for job in found.ticks:
        more = len(job.ticks) - TICKS_SHOWN
        for number, tick in enumerate(job.ticks[:TICKS_SHOWN], start=1):
            last = number == TICKS_SHOWN and (more > 0 or job.capped)
            rest = f"and {more:,}{' or more' if job.capped else ''} later" if last else ""
            yield Row(tick, Text("tick", style="cyan"), job.job, job.queue, rest)


def _took(action: TimelineAction) -> str:
    if action.started_at is None or action.finished_at is None:
        return ""
    return f"took {milliseconds(action.finished_at - action.started_at)}, "


def _notes(found: Timeline, limit: int) -> Iterator[str]:
    """Say what was cut, and how to see more of it."""
    wider = f"--limit is {limit}, at most {MAX_LIMIT}; or give a shorter time"
    if found.ran_capped:
        yield f"more has run: {wider}"
    if found.scheduled_capped:
        yield f"more is scheduled: {wider}"
    if found.ticks_capped:
        yield f"more jobs will tick: {wider}"
