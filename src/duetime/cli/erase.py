"""`duetime erase`: wipe personal data."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from duetime.app import Duetime
from duetime.cli.open_store import open_app
from duetime.cli.options import App, By, Json, Note, Url, os_user
from duetime.cli.output import print_json, print_lines
from duetime.model.erasure import ErasureResult
from duetime.model.tenant import ANY


def erase(
    correlation: Annotated[
        str | None, typer.Option(help="All actions of this correlation id.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="All actions of this tenant.")] = None,
    in_tenant: Annotated[
        str | None, typer.Option(help="The tenant in which the correlation id is meant.")
    ] = None,
    any_tenant: Annotated[
        bool, typer.Option("--any-tenant", help="The correlation id in all tenants.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Cancel what waits, and wipe payloads, results, errors and runs, for good."""
    if (correlation is None) == (tenant is None):
        raise typer.BadParameter("say what to erase: --correlation or --tenant")
    if correlation is None and (in_tenant is not None or any_tenant):
        raise typer.BadParameter("--in-tenant and --any-tenant say where --correlation is meant")
    if in_tenant is not None and any_tenant:
        raise typer.BadParameter("give --in-tenant or --any-tenant, not both")
    what: dict[str, Any] = {"correlation_id": correlation}
    if tenant is not None or any_tenant:
        what["tenant"] = ANY if any_tenant else tenant
    _confirm(correlation, tenant, yes=yes, json=json)
    with open_app(app, url) as target, target.acting(tenant=in_tenant):
        _report(_walk(target, {**what, "by": by or os_user(), "note": note}), json=json)


def _confirm(correlation: str | None, tenant: str | None, *, yes: bool, json: bool) -> None:
    if yes:
        return
    if json or not sys.stdin.isatty():
        raise typer.BadParameter("there is nobody to ask: give --yes")
    whose = f"tenant {tenant!r}" if correlation is None else f"correlation id {correlation!r}"
    typer.confirm(f"Erase the data of all actions of {whose} for good?", abort=True)


def _walk(target: Duetime, what: dict[str, Any]) -> ErasureResult:
    """Make every call of the erasure, and return the sum. It can be interrupted: the next one goes
    on with what is left."""
    erased = cancelled = 0
    done = target.sync.erase(**what)
    while True:
        erased, cancelled = erased + done.erased, cancelled + done.cancelled
        if done.next_cursor is None:
            return ErasureResult(erased, cancelled, done.left, done.running, done.jobs, None)
        done = target.sync.erase(**what, cursor=done.next_cursor)


def _report(done: ErasureResult, *, json: bool) -> None:
    if json:
        names = ("erased", "cancelled", "left", "running", "jobs")
        print_json({name: getattr(done, name) for name in names})
        return
    print_lines(f"erased {done.erased:,}, of which {done.cancelled:,} were waiting")
    if done.left:
        print_lines(
            f"left {done.left:,}, of which {done.running:,} are running: erase again when they "
            "have finished"
        )
    if done.jobs:
        print_lines(f"the tenant has {done.jobs:,} jobs, which stay: see `duetime jobs list`")
