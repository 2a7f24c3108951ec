"""`duetime audit`: who changed what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table

from duetime.cli.documents import audit_document, audit_page_document
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, Json, Tenant, Url, scope
from duetime.cli.output import print_json, print_json_line, safe_cell
from duetime.cli.tables import data_text, print_page
from duetime.cli.times import now, parse_past, shown
from duetime.model.audit import AuditEntry
from duetime.model.filter import MAX_PAGE_SIZE

Past = Annotated[
    datetime | None,
    typer.Option(parser=parse_past, metavar="TIME", help="An instant in ISO 8601, or 2h for ago."),
]


Subject = Annotated[
    str | None, typer.Option(help="Only this action, by id, or this job or queue, by name.")
]
Actor = Annotated[str | None, typer.Option(help="Only what this actor did.")]
Verb = Annotated[str | None, typer.Option(help="Only this verb, such as cancel.")]

cli = typer.Typer(invoke_without_command=True)


@cli.callback()
def audit(
    context: typer.Context,
    subject: Subject = None,
    by: Actor = None,
    verb: Verb = None,
    since: Past = None,
    before: Past = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List who changed which action, job or queue, newest first."""
    if context.invoked_subcommand is not None:
        return
    with open_app(app, url) as target:
        page = target.sync.audit.find(
            subject=subject,
            by=by,
            verb=verb,
            since=since,
            before=before,
            limit=limit,
            cursor=cursor,
            tenant=scope(tenant, any_tenant),
        )
    if json:
        print_json(audit_page_document(page))
        return
    print_page(page, lambda items, _: _table(items, now()), "no entries match")


@cli.command("export")
def export(
    subject: Subject = None,
    by: Actor = None,
    verb: Verb = None,
    since: Past = None,
    before: Past = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
) -> None:
    """Print every entry as a line of JSON, newest first."""
    with open_app(app, url) as target:
        for entry in target.sync.audit.export(
            subject=subject,
            by=by,
            verb=verb,
            since=since,
            before=before,
            tenant=scope(tenant, any_tenant),
        ):
            print_json_line(audit_document(entry))


def _table(entries: Sequence[AuditEntry], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("at", "by", "verb", "subject", "change", "note"):
        table.add_column(name, no_wrap=name == "subject", overflow="fold")
    for entry in entries:
        who = (shown(entry.at, at), entry.by, entry.verb, entry.subject_id)
        table.add_row(*map(safe_cell, (*who, _change(entry, at), entry.note or "")))
    return table


def _change(entry: AuditEntry, at: datetime) -> str:
    """Return the fields that changed, each with its value before and after."""
    names = [*entry.before, *(name for name in entry.after if name not in entry.before)]
    values = ((name, entry.before.get(name), entry.after.get(name)) for name in names)
    changed = [(name, old, new) for name, old, new in values if old != new]
    return ", ".join(
        f"{name} {_value(new, at)}"
        if old is None
        else f"{name} {_value(old, at)} → {_value(new, at)}"
        for name, old, new in changed
    )


def _value(value: object, at: datetime) -> str:
    if isinstance(value, datetime):
        return shown(value, at)
    return value if isinstance(value, str) else data_text(value)
