"""`duetime actions`: look at actions and change them."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer

from duetime.app import Duetime
from duetime.cli import finding, tables
from duetime.cli.action_ids import find_id, find_target
from duetime.cli.documents import action_document, payload_data, plain_document
from duetime.cli.hints import kind_hinted
from duetime.cli.loading import kind_app
from duetime.cli.open_store import open_app
from duetime.cli.options import (
    After,
    AnyTenant,
    App,
    At,
    By,
    Delay,
    Expires,
    IfExistsChoice,
    Json,
    Key,
    KeyKind,
    Note,
    On,
    OptionalId,
    RequiredId,
    Tenant,
    Url,
    actor,
    refuse_both,
    scope,
)
from duetime.cli.output import make_console, print_json, print_lines
from duetime.cli.server import has_store
from duetime.cli.times import now
from duetime.errors import InvalidPayload
from duetime.model.actions.action import Action
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.model.tenant import AMBIENT

cli = typer.Typer(no_args_is_help=True, help="Look at actions and change them.")


cli.command("find")(finding.find)
cli.command("list", help="Another name of `find`.", hidden=True)(finding.find)
cli.command("groups")(finding.groups)


@cli.command("show")
def show(
    action_id: OptionalId = None,
    kind: KeyKind = None,
    key: Key = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show an action: its fields and its runs. By key: the unfinished, or newest finished one."""
    with open_app(app, url) as target, kind_hinted(target, kind):
        among = scope(tenant, any_tenant)
        which = find_target(target, action_id, kind, key, among)
        action = target.sync.get(**which, tenant=among)
        runs = target.sync.runs(action.id, tenant=among)
    if json:
        print_json(action_document(target, action, runs=runs))
        return
    console = make_console()
    console.print(
        tables.field_table(action, payload_data(target, action.kind, action.payload), now())
    )
    console.print(tables.run_lines(runs, now()))


@cli.command("why")
def why(
    action_id: OptionalId = None,
    kind: KeyKind = None,
    key: Key = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Say why an action does not run, and what to do about it."""
    with open_app(app, url) as target, kind_hinted(target, kind):
        among = scope(tenant, any_tenant)
        which = find_target(target, action_id, kind, key, among)
        reasons = target.sync.why(**which, tenant=among)
    if json:
        print_json({"reasons": [plain_document(reason) for reason in reasons]})
        return
    for reason in reasons:
        print_lines(f"{reason.code}: {reason.text}", f"    {reason.remedy}")
    if not reasons:
        print_lines("nothing is in its way: a worker starts it in a moment")


@cli.command("schedule")
def schedule(
    kind: Annotated[str, typer.Argument(help="The kind, as the app declares it.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="The payload.")] = "{}",
    at: At = None,
    delay: Delay = None,
    expires: Expires = None,
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
    note: Note = None,
    app: App = None,
    json: Json = False,
) -> None:
    """Schedule an action for an instant, after a delay, or now."""
    app = kind_app(app, f"the app that declares {kind!r}")
    refuse_both(at, delay)
    with open_app(app, None) as target:
        action = target.sync.schedule(
            build_payload(target, kind, payload),
            at=at,
            delay=delay,
            expires=expires,
            after=None if after is None else find_id(target, after, scope(tenant, False)),
            on=None if on is None else on.value,
            key=key,
            if_exists=if_exists.value,
            correlation_id=correlation,
            priority=priority,
            queue=queue,
            tenant=AMBIENT if tenant is None else tenant,
            by=actor(target, by),
            note=note,
        )
    existing = "replaced" if if_exists is IfExistsChoice.replace_ else "already there"
    done = "scheduled" if action.created else existing
    _report(target, action, done, json=json, created=action.created)


@cli.command("cancel")
def cancel(
    action_id: OptionalId = None,
    kind: KeyKind = None,
    key: Key = None,
    running: Annotated[
        bool, typer.Option("--running", help="If the action is running, ask its handler to stop.")
    ] = False,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Cancel a scheduled action: by its id, or by its kind and key."""
    with open_app(app, url) as target, kind_hinted(target, kind):
        among = scope(tenant, any_tenant)
        which = find_target(target, action_id, kind, key, among)
        action = target.sync.cancel(
            **which,
            running=running,
            tenant=among,
            by=actor(target, by),
            note=note,
        )
    stopped = action.state is State.cancelled
    _report(target, action, "cancelled" if stopped else "asked to stop", json=json)


@cli.command("reschedule")
def reschedule(
    action_id: OptionalId = None,
    kind: KeyKind = None,
    key: Key = None,
    at: At = None,
    delay: Delay = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Move a scheduled action to an earlier or later time: by its id, or by its kind and key."""
    refuse_both(at, delay)
    if at is None and delay is None:
        raise typer.BadParameter("give the new time: --at or --delay")
    with open_app(app, url) as target, kind_hinted(target, kind):
        among = scope(tenant, any_tenant)
        which = find_target(target, action_id, kind, key, among)
        action = target.sync.reschedule(
            **which,
            at=at,
            delay=delay,
            tenant=among,
            by=actor(target, by),
            note=note,
        )
    _report(target, action, "rescheduled", json=json)


@cli.command("retry")
def retry(
    action_id: OptionalId = None,
    kind: KeyKind = None,
    key: Key = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Schedule a failed action again, due now, with a fresh retry budget. By key: the newest."""
    with open_app(app, url) as target, kind_hinted(target, kind):
        among = scope(tenant, any_tenant)
        which = find_target(target, action_id, kind, key, among)
        action = target.sync.retry(**which, tenant=among, by=actor(target, by), note=note)
    _report(target, action, "scheduled again", json=json)


@cli.command("repeat")
def repeat(
    action_id: RequiredId,
    at: At = None,
    delay: Delay = None,
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help="Another payload; default: the same.")
    ] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Schedule a finished action anew, as another action: now, or at another time."""
    refuse_both(at, delay)
    if payload is not None:
        app = kind_app(app, "the app that declares its kind")
    with open_app(app, url) as target:
        among = scope(tenant, any_tenant)
        found = target.sync.get(find_id(target, action_id, among), tenant=among)
        action = target.sync.repeat(
            found.id,
            at=at,
            delay=delay,
            payload=None if payload is None else build_payload(target, found.kind, payload),
            tenant=among,
            by=actor(target, by),
            note=note,
        )
    _report(target, action, "scheduled anew", json=json)


def build_payload(app: Duetime, kind: str, text: str) -> Any:
    """Parse JSON into the payload type that the app declares for the kind. Over HTTP, where the
    server has the type, its data are sent as they are."""
    if has_store(app):
        return app.runtime.payloads.parse(kind, text)
    from duetime.remote.payloads import PlainPayload

    try:
        return PlainPayload(kind, json_text.loads(text))
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(kind, f"it is no JSON: {error}") from None


def _report(
    app: Duetime, action: Action, done: str, *, json: bool, created: bool | None = None
) -> None:
    if json:
        print_json(action_document(app, action, created=created))
        return
    due = tables.due_text(action, now()) if action.state is State.scheduled else ""
    due = due if action.waits or not due else f"due {due}"
    print_lines(f"{done}: {action.kind} {action.id}{', ' if due else ''}{due}")
