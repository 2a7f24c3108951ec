"""`duetime grants`: which role may do what over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, cast

import typer
from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.cli.open_store import open_app
from duetime.cli.options import App, By, Json, Note, Url, actor
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, shown
from duetime.model.access.grants import Grant
from duetime.model.access.permissions import GrantableName
from duetime.model.tenant import ANY

cli = typer.Typer(no_args_is_help=True, help="Say which role may do what over HTTP.")


@cli.command("set")
def set_(
    role: Annotated[str, typer.Argument(metavar="ROLE")],
    permission: Annotated[
        str, typer.Argument(metavar="PERMISSION", help="Such as actions.read or jobs.manage.")
    ],
    tenant: Annotated[
        str | None, typer.Option(help="For the rows of this tenant only; default: for all.")
    ] = None,
    deny: Annotated[bool, typer.Option("--deny", help="The role has not, there.")] = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Give a role a permission, or with --deny say that it has it not."""
    with open_app(app, url) as target:
        grant = target.sync.grants.set(
            role,
            cast("GrantableName", permission),  # the verb refuses other names
            tenant,
            not deny,
            by=actor(target, by),
            note=note,
        )
    if json:
        print_json(to_jsonable_python(asdict(grant)))
        return
    print_lines(f"{role} {_word(grant)} {permission} for {tenant or 'all'}: grant {grant.id}")


@cli.command("list")
def list_(
    role: Annotated[str | None, typer.Option(help="Only the grants of this role.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only the grants for this tenant.")] = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the grants by role and permission."""
    with open_app(app, url) as target:
        grants = target.sync.grants.list(role=role, tenant=ANY if tenant is None else tenant)
    if json:
        print_json({"items": to_jsonable_python([asdict(grant) for grant in grants])})
    elif not grants:
        print_lines("no grants: `duetime grants set` makes one")
    else:
        make_console().print(_table(grants, now()))


@cli.command("remove")
def remove(
    grant_id: Annotated[str, typer.Argument(metavar="ID", help="The grant's id.")],
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
) -> None:
    """Delete a grant: what else is granted to the role counts again."""
    with open_app(app, url) as target:
        grant = target.sync.grants.remove(grant_id, by=actor(target, by), note=note)
    place = f"{grant.role} {grant.permission} for {grant.tenant or 'all'}"
    print_lines(f"removed grant {grant.id}: {place}")


def _table(grants: Sequence[Grant], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "role", "", "permission", "tenant", "set", "by"):
        table.add_column(name, no_wrap=name == "id", overflow="fold")
    for grant in grants:
        what = (grant.role, _word(grant), grant.permission, grant.tenant or "all")
        when = (shown(grant.created_at, at), grant.created_by)
        table.add_row(*map(safe_cell, (str(grant.id), *what, *when)))
    return table


def _word(grant: Grant) -> str:
    return "has" if grant.allowed else "has not"
