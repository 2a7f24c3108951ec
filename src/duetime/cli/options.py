"""Options that several commands share."""

from __future__ import annotations

import getpass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from duetime.app import Duetime
from duetime.cli.action_ids import TypedId, parse_id
from duetime.cli.server import has_store
from duetime.cli.times import parse_delay, parse_instant
from duetime.model.tenant import AMBIENT, ANY, Ambient, Scope


def os_user() -> str:
    """The name of the OS user; "system" where it is unknown, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "system"


def actor(app: Duetime, by: str | None) -> str | None:
    """Return who acts: the given actor, or the OS user. Over HTTP it is that of the credential."""
    if has_store(app):
        return by or os_user()
    if by is not None:
        raise typer.BadParameter("--by: over HTTP the actor is that of the key: leave it out")
    return None


def refuse_both(at: datetime | None, delay: float | None) -> None:
    if at is not None and delay is not None:
        raise typer.BadParameter("give --at or --delay, not both")


def scope(tenant: str | None, any_tenant: bool) -> Scope | Ambient:
    if tenant is not None and any_tenant:
        raise typer.BadParameter("give --tenant or --any-tenant, not both")
    return ANY if any_tenant else AMBIENT if tenant is None else tenant


class IfExistsChoice(StrEnum):
    """The values of `if_exists`: what to do if an unfinished action holds the key."""

    return_ = "return"
    replace_ = "replace"
    raise_ = "raise"


class ParentEnds(StrEnum):
    """The values of `on`: how the parent of an action must finish."""

    succeeded = "succeeded"
    failed = "failed"
    finished = "finished"


After = Annotated[
    TypedId | None,
    typer.Option(parser=parse_id, metavar="ID", help="Wait until this action has finished."),
]
On = Annotated[
    ParentEnds | None, typer.Option(help="How that action must finish; default: succeeded.")
]
AppArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODULE:APP]",
        help="The app, such as myshop.main:app; also --app or DUETIME_APP.",
    ),
]
App = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:APP",
        help="The app whose store and kinds to use; default: DUETIME_APP.",
    ),
]
Url = Annotated[
    str | None,
    typer.Option("--url", help="The store, if no app is given; default: DUETIME_URL or TOML."),
]
Tenant = Annotated[str | None, typer.Option(help="The tenant; default: untenanted actions only.")]
AnyTenant = Annotated[bool, typer.Option("--any-tenant", help="Include all tenants.")]
By = Annotated[str | None, typer.Option(help="The actor to record; default: the OS user.")]
Note = Annotated[str | None, typer.Option(help="Why; the audit log keeps it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")]
RequiredId = Annotated[
    TypedId,
    typer.Argument(
        parser=parse_id,
        metavar="ID",
        help="The action's id, its first 8 or more digits, or its last 6 or more.",
    ),
]
OptionalId = Annotated[
    TypedId | None,
    typer.Argument(
        parser=parse_id,
        metavar="[ID]",
        help="The action's id, its first 8 or more digits, or its last 6 or more.",
    ),
]
KeyKind = Annotated[
    str | None, typer.Option("--kind", help="With --key, instead of an id: the action's kind.")
]
Key = Annotated[
    str | None, typer.Option("--key", help="With --kind, instead of an id: the action's key.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The job's name.")]
At = Annotated[
    datetime | None,
    typer.Option(
        parser=parse_instant, metavar="ISO", help="When, such as 2030-01-31T09:00:00+01:00 or …Z."
    ),
]
Expires = Annotated[
    datetime | None,
    typer.Option(
        parser=parse_instant, metavar="ISO", help="Cancel it instead of starting it after this."
    ),
]
Delay = Annotated[
    float | None,
    typer.Option(
        parser=parse_delay, metavar="TIME", help="After how long, such as 90s, 5m, 2h, 1d."
    ),
]
