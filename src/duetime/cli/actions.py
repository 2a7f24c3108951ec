"""`duetime actions`: look at actions and change them."""

from __future__ import annotations

from typing import Annotated

import typer

from duetime.app import Duetime
from duetime.cli import tables
from duetime.cli.documents import action_document, page_document, payload_data
from duetime.cli.failures import CommandError
from duetime.cli.open_store import open_app
from duetime.cli.options import (
    After,
    AnyTenant,
    App,
    At,
    By,
    Delay,
    Id,
    IfExistsChoice,
    Json,
    On,
    Tenant,
    Url,
    os_user,
    refuse_both,
    scope,
)
from duetime.cli.output import make_console, print_json, print_lines
from duetime.cli.times import now
from duetime.model.actions.action import Action
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.lane import Priority
from duetime.model.state import State

cli = typer.Typer(no_args_is_help=True, help="Look at actions and change them.")


@cli.command("list")
def list_(
    state: Annotated[State | None, typer.Option(help="Only this state.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    correlation: Annotated[str | None, typer.Option(help="Only this correlation id.")] = None,
    key: Annotated[str | None, typer.Option(help="Only this key.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List actions, newest first."""
    with open_app(app, url) as target:
        page = target.sync.find(
            state=state,
            kind=kind,
            queue=queue,
            correlation_id=correlation,
            key=key,
            limit=limit,
            cursor=cursor,
            tenant=scope(tenant, any_tenant),
        )
    if json:
        print_json(page_document(target, page))
        return
    tables.print_page(
        page,
        lambda items, width: tables.action_table(items, now(), tenants=any_tenant, width=width),
        "no actions match",
    )


@cli.command("show")
def show(
    action_id: Id,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show an action: its fields and its runs."""
    with open_app(app, url) as target:
        among = scope(tenant, any_tenant)
        action = target.sync.get(action_id, tenant=among)
        runs = target.sync.runs(action.id, tenant=among)
    if json:
        print_json(action_document(target, action, runs=runs))
        return
    console = make_console()
    console.print(
        tables.field_table(action, payload_data(target, action.kind, action.payload), now())
    )
    console.print(tables.run_lines(runs, now()))


@cli.command("schedule")
def schedule(
    kind: Annotated[str, typer.Argument(help="The kind, as the app declares it.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="The payload.")] = "{}",
    at: At = None,
    delay: Delay = None,
    after: After = None,
    on: On = None,
    key: Annotated[str | None, typer.Option(help="Unique among unfinished actions.")] = None,
    if_exists: Annotated[
        IfExistsChoice, typer.Option(help="What to do if an unfinished action holds the key.")
    ] = IfExistsChoice.return_,
    correlation: Annotated[str | None, typer.Option(help="Correlation id.")] = None,
    priority: Annotated[Priority, typer.Option(help="The priority.")] = Priority.normal,
    queue: Annotated[str | None, typer.Option(help="The queue; default: the kind's.")] = None,
    tenant: Tenant = None,
    by: By = None,
    app: App = None,
    json: Json = False,
) -> None:
    """Schedule an action for an instant, after a delay, or now."""
    if app is None:
        raise CommandError(
            f"only a declared kind can be scheduled: name the app that declares {kind!r} "
            "with --app module:app"
        )
    refuse_both(at, delay)
    with open_app(app, None) as target:
        action = target.sync.schedule(
            build_payload(target, kind, payload),
            at=at,
            delay=delay,
            after=after,
            on=None if on is None else on.value,
            key=key,
            if_exists=if_exists.value,
            correlation_id=correlation,
            priority=priority,
            queue=queue,
            tenant=tenant,
            by=by or os_user(),
        )
    existing = "replaced" if if_exists is IfExistsChoice.replace_ else "already there"
    done = "scheduled" if action.created else existing
    _report(target, action, done, json=json, created=action.created)


@cli.command("cancel")
def cancel(
    action_id: Id,
    running: Annotated[
        bool, typer.Option("--running", help="If the action is running, ask its handler to stop.")
    ] = False,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Cancel a scheduled action."""
    with open_app(app, url) as target:
        action = target.sync.cancel(
            action_id, running=running, tenant=scope(tenant, any_tenant), by=by or os_user()
        )
    stopped = action.state is State.cancelled
    _report(target, action, "cancelled" if stopped else "asked to stop", json=json)


@cli.command("reschedule")
def reschedule(
    action_id: Id,
    at: At = None,
    delay: Delay = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Move a scheduled action to an earlier or later time."""
    refuse_both(at, delay)
    if at is None and delay is None:
        raise typer.BadParameter("give the new time: --at or --delay")
    with open_app(app, url) as target:
        action = target.sync.reschedule(
            action_id, at=at, delay=delay, tenant=scope(tenant, any_tenant), by=by or os_user()
        )
    _report(target, action, "rescheduled", json=json)


@cli.command("retry")
def retry(
    action_id: Id,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Schedule a failed action again, due now, with a fresh retry budget."""
    with open_app(app, url) as target:
        action = target.sync.retry(action_id, tenant=scope(tenant, any_tenant), by=by or os_user())
    _report(target, action, "scheduled again", json=json)


def build_payload(app: Duetime, kind: str, text: str) -> object:
    """Parse JSON into the payload type that the app declares for the kind."""
    return app.runtime.payloads.parse(kind, text)


def _report(
    app: Duetime, action: Action, done: str, *, json: bool, created: bool | None = None
) -> None:
    if json:
        print_json(action_document(app, action, created=created))
        return
    due = tables.due_text(action, now()) if action.state is State.scheduled else ""
    due = due if action.waits or not due else f"due {due}"
    print_lines(f"{done}: {action.kind} {action.id}{', ' if due else ''}{due}")
