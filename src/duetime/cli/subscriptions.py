"""`duetime notifications`: subscriptions, made, changed, muted, tested and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, cast

import typer
from rich.table import Table

from duetime.api.subscription_arguments import Topics
from duetime.cli.documents import plain_document
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, By, Json, Note, Tenant, Url, actor, scope
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.times import now, parse_coming, shown
from duetime.model.notifications.subscription import (
    EMAIL,
    CreatedSubscription,
    Subscription,
)
from duetime.model.notifications.topics import CONFIRM_TOPIC

SubscriptionId = Annotated[str, typer.Argument(metavar="ID", help="The subscription's id.")]
Jobs = Annotated[
    list[str] | None,
    typer.Option("--job", metavar="PATTERN", help="Only jobs of this name, as billing-*."),
]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", metavar="PATTERN", help="Only actions of this kind.")
]
Queues = Annotated[
    list[str] | None, typer.Option("--queue", metavar="PATTERN", help="Only this queue.")
]
Language = Annotated[str | None, typer.Option(help="Of messages, as en or fr; default: en.")]
Zone = Annotated[str | None, typer.Option(help="Of times and quiet hours; default: UTC.")]
Minimum = Annotated[
    str | None, typer.Option(metavar="SEVERITY", help="The least: info, warning or critical.")
]
Quiet = Annotated[
    str | None,
    typer.Option(metavar="HOURS", help="Such as 22:00-07:00; what is critical is sent anyway."),
]


def subscriptions(
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List subscriptions, oldest first: who hears of what, and where."""
    with open_app(app, url) as target:
        found = target.sync.notifications.subscriptions(tenant=scope(tenant, any_tenant))
    if json:
        print_json({"items": [plain_document(each) for each in found]})
    elif found:
        make_console().print(_table(found, now()))
    else:
        print_lines("no subscriptions: `duetime notifications subscribe` makes one")


def subscribe(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", help="Such as job-failing; '*' for all.")
    ],
    email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Its owner confirms by a link.")
    ] = None,
    webhook: Annotated[str | None, typer.Option(metavar="URL", help="To POST each to.")] = None,
    in_app: Annotated[bool, typer.Option("--in-app", help="On the page Alerts.")] = False,
    via: Annotated[
        str | None, typer.Option(metavar="TRANSPORT", help="A transport of the app's.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="With --via: where it sends to.")] = None,
    job: Jobs = None,
    kind: Kinds = None,
    queue: Queues = None,
    language: Language = None,
    zone: Zone = None,
    minimum: Minimum = None,
    quiet: Quiet = None,
    show_errors: Annotated[
        bool, typer.Option("--show-errors", help="Send the texts of errors, too.")
    ] = False,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Subscribe to topics, by one of --email, --webhook, --in-app and --via."""
    where = {"email": email, "webhook": webhook, "in_app": in_app, "via": via, "to": to}
    terms = _given(jobs=job, kinds=kind, queues=queue, language=language, zone=zone)
    terms |= _given(minimum=minimum, quiet=quiet)
    wanted: dict[str, Any] = where | terms | {"show_errors": show_errors}
    with open_app(app, url) as target:
        made = target.sync.notifications.add(
            cast("Topics", topics),  # the verb refuses other names
            **wanted,
            tenant=scope(tenant, any_tenant),
            by=actor(target, by),
            note=note,
        )
    if json:
        print_json(plain_document(made))
        return
    _print_made(made)


def change(
    subscription_id: SubscriptionId,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="In place of its topics; '*' for all.")
    ] = None,
    job: Jobs = None,
    kind: Kinds = None,
    queue: Queues = None,
    any_subject: Annotated[
        bool, typer.Option("--any", help="About any job, kind and queue, but those given here.")
    ] = False,
    language: Language = None,
    zone: Zone = None,
    minimum: Minimum = None,
    quiet: Quiet = None,
    no_quiet: Annotated[bool, typer.Option("--no-quiet", help="End its quiet hours.")] = False,
    show_errors: Annotated[
        bool | None,
        typer.Option("--show-errors/--hide-errors", help="Whether it sends texts of errors."),
    ] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Change what a stored subscription asks for; what is not given stays."""
    if quiet is not None and no_quiet:
        raise typer.BadParameter("give --quiet or --no-quiet, not both")
    wanted: dict[str, Any] = {"jobs": [], "kinds": [], "queues": []} if any_subject else {}
    wanted |= _given(topics=topic, jobs=job, kinds=kind, queues=queue, language=language)
    wanted |= _given(zone=zone, minimum=minimum, quiet=quiet, show_errors=show_errors)
    wanted |= {"quiet": None} if no_quiet else {}
    with open_app(app, url) as target:
        changed = target.sync.notifications.change(
            subscription_id,
            **wanted,
            tenant=scope(tenant, any_tenant),
            by=actor(target, by),
            note=note,
        )
    _print_one(changed, json)


def mute(
    subscription_id: SubscriptionId,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=parse_coming,
            metavar="TIME",
            help="Until this instant in ISO 8601, or for so long, such as 2h.",
        ),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Send again.")] = False,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Drop what a subscription would get until an instant, or end that by --off."""
    if (until is None) != off:
        raise typer.BadParameter("give --until or --off")
    with open_app(app, url) as target:
        muted = target.sync.notifications.mute(
            subscription_id,
            until=until,
            tenant=scope(tenant, any_tenant),
            by=actor(target, by),
            note=note,
        )
    _print_one(muted, json)


def remove(
    subscription_id: SubscriptionId,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
) -> None:
    """Delete a stored subscription."""
    with open_app(app, url) as target:
        target.sync.notifications.remove(
            subscription_id, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    print_lines(f"removed subscription {subscription_id}")


def send_test(
    subscription_id: SubscriptionId,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send a message, to see that a subscription works. An address that was not confirmed gets the
    link once more instead."""
    with open_app(app, url) as target:
        sent = target.sync.notifications.test(
            subscription_id, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    if json:
        print_json(plain_document(sent))
        return
    what = "the link to confirm" if sent.topic == CONFIRM_TOPIC else "a test"
    print_lines(f"{what} is sent as notification {sent.id}, as soon as a process notifies")


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value not in (None, [])}


SUBSCRIPTION_COMMANDS: Mapping[str, Callable[..., None]] = {
    "subscriptions": subscriptions,
    "subscribe": subscribe,
    "change": change,
    "mute": mute,
    "remove": remove,
    "test": send_test,
}


# -- what is printed ------------------------------------------------------------------------------


def _print_made(made: CreatedSubscription) -> None:
    if made.secret is not None:
        print_lines(made.secret)
        print_lines("keep the line above, it verifies signatures and is not shown again", err=True)
    print_lines(f"subscription {made.id}: {_where(made)}", err=made.secret is not None)
    if made.channel == EMAIL:
        print_lines("its owner gets a link first; nothing else is sent before it is followed")


def _print_one(subscription: Subscription, json: bool) -> None:
    if json:
        print_json(plain_document(subscription))
        return
    print_lines(*_lines(subscription, now()))


def _lines(subscription: Subscription, at: datetime) -> Iterator[str]:
    yield f"subscription {subscription.id}: {_where(subscription)}"
    yield f"{_state(subscription, at)}; {', '.join(subscription.topics)}"
    if _only(subscription):
        yield f"only {_only(subscription)}"


def _table(found: Sequence[Subscription], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "where", "whose", "topics", "only", "state"):
        table.add_column(name, no_wrap=name == "id", overflow="fold")
    for each in found:
        whose = "all tenants" if each.all_tenants else each.tenant or "-"
        what = (whose, ", ".join(each.topics), _only(each), _state(each, at))
        table.add_row(*map(safe_cell, (str(each.id), _where(each), *what)))
    return table


def _where(subscription: Subscription) -> str:
    return f"{subscription.channel} {subscription.address}".strip()


def _only(subscription: Subscription) -> str:
    """Return what narrows a subscription."""
    severe = "" if subscription.minimum == "info" else f"{subscription.minimum} or worse"
    quiet = "" if subscription.quiet is None else f"not at {subscription.quiet}"
    patterns = {"job": subscription.jobs, "kind": subscription.kinds, "queue": subscription.queues}
    subjects = [f"{noun} {' or '.join(names)}" for noun, names in patterns.items() if names]
    return "; ".join(text for text in (*subjects, severe, quiet) if text)


def _state(subscription: Subscription, at: datetime) -> str:
    of_code = "" if subscription.app is None else f", in the code of {subscription.app}"
    if subscription.state == "muted":
        return f"muted until {shown(subscription.muted_until, at)}{of_code}"
    if subscription.state == "ended":
        return f"ended: {subscription.end_reason}{of_code}"
    return f"{subscription.state}{of_code}"
