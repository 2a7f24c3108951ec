"""The verbs of notifications, and of subscriptions to them, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from duetime.model.actions.action import Page
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import CreatedSubscription, Subscription
from duetime.model.tenant import ANY
from duetime.remote.documents import read
from duetime.remote.http import HttpSteps
from duetime.remote.refusals import refuse_reader
from duetime.remote.route import NULL, RemoteCall, RemoteVerb, Route

TERMS = ("topics", "jobs", "kinds", "queues", "language", "zone", "minimum", "quiet", "show_errors")
# What is given as one text, or as several.
LISTED = ("topics", "jobs", "kinds", "queues")


# -- subscriptions --------------------------------------------------------------------------------

ADD = Route(
    method="POST",
    path="/api/subscriptions",
    body=(*TERMS, "email", "webhook", "in_app", "via", "to", "all_tenants", "note"),
    read=lambda _, document: read(CreatedSubscription, document),
    keyed=True,
)
CHANGE = Route(
    method="PATCH",
    path="/api/subscriptions/{id}",
    body=(*TERMS, "note"),
    read=lambda _, document: read(Subscription, document),
)
MUTE = Route(
    method="POST",
    path="/api/subscriptions/{id}/mute",
    body=("until", "note"),
    read=lambda _, document: read(Subscription, document),
    represented=True,
    repeatable=True,
)


def add(call: RemoteCall) -> HttpSteps[CreatedSubscription]:
    everywhere = call.arguments["tenant"] is ANY
    created: CreatedSubscription = (
        yield from _with_lists(call).given(all_tenants=everywhere).send(ADD)
    )
    return created


def change(call: RemoteCall) -> HttpSteps[Subscription]:
    """Send what is given only. No quiet hours are another wish than none that is told."""
    quiet = call.arguments["quiet"]
    told = {None: NULL, "unchanged": None}.get(quiet, quiet)
    changed: Subscription = yield from _with_lists(call).given(quiet=told).send(CHANGE)
    return changed


def mute(call: RemoteCall) -> HttpSteps[Subscription]:
    until = call.arguments["until"]
    muted: Subscription = yield from call.given(until=NULL if until is None else until).send(MUTE)
    return muted


def _with_lists(call: RemoteCall) -> RemoteCall:
    given = {name: call.arguments[name] for name in LISTED}
    return call.given(**{name: _list(value) for name, value in given.items()})


def _list(value: str | Iterable[str] | None) -> list[str] | None:
    if value is None:
        return None
    return [value] if isinstance(value, str) else list(value)


# -- notifications --------------------------------------------------------------------------------


def _to_page(_: RemoteCall, document: Any) -> Page[Notification]:
    items = [read(Notification, item) for item in document["items"]]
    return Page(items, document["next_cursor"])


def _of_the_credential(route: Route) -> RemoteVerb:
    """Return the verb of a route whose reader is whoever has the credential."""

    def steps(call: RemoteCall) -> HttpSteps[Any]:
        refuse_reader(call.arguments["reader"])
        return (yield from call.send(route))

    return steps


NOTIFICATIONS: Mapping[str, RemoteVerb] = {
    "add": add,
    "subscriptions": Route(
        method="GET",
        path="/api/subscriptions",
        read=lambda _, document: [read(Subscription, item) for item in document["items"]],
    ),
    "get": Route(
        method="GET",
        path="/api/subscriptions/{id}",
        read=lambda _, document: read(Subscription, document),
    ),
    "change": change,
    "mute": mute,
    "remove": Route(
        method="DELETE",
        path="/api/subscriptions/{id}",
        query=("note",),
        read=lambda _, document: None,
    ),
    "test": Route(
        method="POST",
        path="/api/subscriptions/{id}/test",
        body=("note",),
        read=lambda _, document: read(Notification, document),
    ),
    "list": _of_the_credential(
        Route(
            method="GET",
            path="/api/notifications",
            query=("unread", "limit", "cursor"),
            read=_to_page,
        )
    ),
    "unread": _of_the_credential(
        Route(
            method="GET",
            path="/api/notifications/unread",
            query=("most",),
            read=lambda _, document: document["unread"],
        )
    ),
    "read": _of_the_credential(
        Route(
            method="POST",
            path="/api/notifications/read",
            body=("ids",),
            read=lambda _, document: document["read"],
            represented=True,
        )
    ),
}
