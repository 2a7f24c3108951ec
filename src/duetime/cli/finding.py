"""`duetime actions find` and `groups`: which actions there are, and what they have in common."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import typer
from rich.table import Table

from duetime.app import Duetime
from duetime.cli import tables
from duetime.cli.action_ids import find_id
from duetime.cli.documents import groups_document, page_document
from duetime.cli.filter_options import with_filters
from duetime.cli.hints import kind_hint, queue_hint, tenant_hint
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, Json, Tenant, Url, scope
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, shown
from duetime.model.actions.action import Action, Page
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.groups import GroupField, Groups
from duetime.model.tenant import AMBIENT


@with_filters
def find(
    *,
    filters: dict[str, Any],
    sort: Annotated[
        str | None,
        typer.Option(
            help="created_at, due_at or finished_at; with - before it, the latest first. "
            "Default: -created_at."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Find actions, newest first."""
    among = scope(tenant, any_tenant)
    with open_app(app, url) as target:
        _complete(target, filters, among)
        page = _filled(target, {**filters, "sort": sort, "tenant": among}, limit, cursor)
        hint = "" if page.items else _hints(target, filters, among)
    if json:
        print_json(page_document(target, page))
        return
    tables.print_page(
        page,
        lambda items, width: tables.action_table(items, now(), tenants=any_tenant, width=width),
        f"no actions match{hint}",
    )


@with_filters
def groups(
    *,
    filters: dict[str, Any],
    by: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(GroupField))}.")] = "error",
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Count actions that have the same error, kind, queue or state."""
    among = scope(tenant, any_tenant)
    with open_app(app, url) as target:
        _complete(target, filters, among)
        found: Groups = target.sync.groups(by, **filters, tenant=among)  # type: ignore[arg-type]
        hint = "" if len(found) else _hints(target, filters, among)
    if json:
        print_json(groups_document(found))
        return
    if not len(found):
        print_lines(f"no actions match{hint}")
        return
    make_console().print(_group_table(found, by))
    if found.examined_since is not None:
        print_lines(f"counted since {shown(found.examined_since, now())}: older ones are left out")


def _complete(app: Duetime, filters: dict[str, Any], among: Any) -> None:
    """Replace the digits of the parent's id by the whole id."""
    if "after" in filters:
        filters["after"] = find_id(app, filters["after"], among)


def _filled(
    app: Duetime, arguments: dict[str, Any], limit: int, cursor: str | None
) -> Page[Action]:
    """Return a page that is full, or the last: where matches are far apart, a page is short."""
    items: list[Action] = []
    while True:
        page = app.sync.find(**arguments, limit=limit - len(items), cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) == limit:
            return Page(items, cursor)


def _hints(app: Duetime, filters: dict[str, Any], among: Any) -> str:
    kinds = filters.get("kind") or [None]
    hint = "".join(kind_hint(app, kind) for kind in kinds) + queue_hint(app, filters.get("queue"))
    return hint + (tenant_hint(app, filters) if among is AMBIENT else "")


def _group_table(found: Groups, by: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("count", justify="right")
    table.add_column(by, overflow="fold")
    table.add_column("newest", no_wrap=True)
    for group in found:
        count = f"{group.count:,}{'+' if group.capped else ''}"
        table.add_row(count, safe_cell(group.value), str(group.newest_id))
    return table
