"""`duetime keys`: API keys for requests over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.cli.open_store import open_app
from duetime.cli.options import App, By, Json, Note, Url, actor
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, parse_instant, shown
from duetime.model.access.api_keys import ApiKey
from duetime.model.tenant import ANY

cli = typer.Typer(no_args_is_help=True, help="Make and revoke keys for requests over HTTP.")

Role = Annotated[list[str], typer.Option("--role", help="A role; give it once for each.")]
KeyTenant = Annotated[
    str | None, typer.Option("--tenant", help="The only tenant whose rows it reaches.")
]
ExpiresAt = Annotated[
    datetime | None,
    typer.Option(
        "--expires", parser=parse_instant, metavar="ISO", help="From when on it is refused."
    ),
]


@cli.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for, for people to read.")],
    role: Role,
    tenant: KeyTenant = None,
    expires: ExpiresAt = None,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Make a key. Its text is printed now and cannot be shown again."""
    with open_app(app, url) as target:
        made = target.sync.api_keys.create(
            name, role, tenant, expires, by=actor(target, by), note=note
        )
    if json:
        print_json(to_jsonable_python(asdict(made)))
        return
    print_lines(made.key)
    print_lines(f"key {made.id}: keep the line above, it is not shown again", err=True)


@cli.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only the keys of this tenant.")] = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the keys, oldest first, without their secrets."""
    with open_app(app, url) as target:
        keys = target.sync.api_keys.list(tenant=ANY if tenant is None else tenant)
    if json:
        print_json({"items": to_jsonable_python([asdict(key) for key in keys])})
    elif not keys:
        print_lines("no keys: `duetime keys create` makes one")
    else:
        make_console().print(_table(keys, now()))


@cli.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")],
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
) -> None:
    """Delete a key: the next request with it is refused."""
    with open_app(app, url) as target:
        key = target.sync.api_keys.revoke(key_id, by=actor(target, by), note=note)
    print_lines(f"revoked key {key.id} {key.name}")


def _table(keys: Sequence[ApiKey], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "name", "roles", "tenant", "created", "by", "expires", "last used"):
        table.add_column(name, no_wrap=name == "id", overflow="fold")
    for key in keys:
        owner = (str(key.id), key.name, ", ".join(key.roles), key.tenant or "")
        times = (shown(key.expires_at, at), shown(key.last_used_at, at))
        cells = (*owner, shown(key.created_at, at), key.created_by, *times)
        table.add_row(*map(safe_cell, cells))
    return table
