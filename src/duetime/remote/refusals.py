"""What a connected app does not offer, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duetime.errors import ConfigError, shown

# Verbs that no route carries, by noun.
REFUSED_VERBS: Mapping[str, Mapping[str, str]] = {
    "": {
        "cancel_many": "call bulk('cancel', filter={...}) until its next_cursor is None",
        "retry_many": "call bulk('retry', filter={...}) until its next_cursor is None",
        "erase": "call it on an app that has the store, or run `duetime erase` there",
    },
    "notifications": {
        "confirm": "its link opens a page of the server",
        "unsubscribe": "its link opens a page of the server",
        "linked": "its link opens a page of the server",
    },
    "transitions": {
        "register": "register models in the app of the server",
        "list": "it is no coroutine: app.sync.transitions.list() asks the server",
        "last_report": "call it on an app that has the store",
        "next_due": "read next_due of what pending() returns",
        "runner": "rows are swept by the workers of the app that registers them",
        "as_job": "declare the job in the app of the server",
        "companions": "rows are swept by the workers of the app that registers them",
        "aclose": "close the app itself",
        "refuse_async": "there is no engine here",
        "check_durable_subscriber": "subscribers are declared in the app of the server",
    },
}

_SERVER = "declare it in the app of the server"
# Members of an app that need its store.
REFUSED_MEMBERS: Mapping[str, str] = {
    "handler": f"{_SERVER}; here app.payload(Type, kind=...) or app.include(router) names kinds",
    "job": f"{_SERVER}, or make one with app.jobs.put(...)",
    "on": "subscribe in the app of the server, whose processes make the changes",
    "provide": "handlers run in the app of the server: provide it there",
    "middleware": "handlers run in the app of the server: add it there",
    "worker": "run workers where the store is: `duetime worker module:app`",
    "worker_settings": "run workers where the store is: `duetime worker module:app`",
    "notifier": "run it where the store is: `duetime serve --no-worker module:app`",
    "run": "run workers where the store is: `duetime worker module:app`",
    "testing": "in tests, connect to a server that serves an app in memory, or test that app",
    "store": "the store is behind the server",
    "admin": "the server serves the API already",
    "admin_router": "the server serves the API already",
}

# What `app.notifications` declares in code.
REFUSED_DECLARATIONS: Mapping[str, str] = {
    "subscribe": f"{_SERVER}, or store one with app.notifications.add(...)",
}


def refused(name: str, remedy: str) -> ConfigError:
    return ConfigError(f"app.{name} is not available over HTTP: {remedy}")


def refuse_by(by: object) -> None:
    """ConfigError for an actor: the server takes nobody's word for it."""
    if by is not None:
        raise ConfigError(
            f"by={shown(by)}: over HTTP the actor is that of the credential: leave out by=, and "
            "give each actor a key"
        )


def refuse_authority(authority: object) -> None:
    if authority is not None:
        raise ConfigError("authority=: over HTTP it is that of the credential: leave it out")


def refuse_reader(reader: object) -> None:
    """ConfigError for a reader: marks over HTTP are those of the credential."""
    if reader is not None:
        raise ConfigError(
            f"reader={shown(reader)}: over HTTP the reader is that of the credential: leave it out"
        )


class RefusedMember:
    """A member of an app that a connected one does not have."""

    def __init__(self, name: str, remedy: str) -> None:
        self._name = name
        self._remedy = remedy

    def __get__(self, app: object, owner: type[Any]) -> Any:
        if app is None:
            return self
        raise refused(self._name, self._remedy)


def refuse_members(owner: type[Any], remedies: Mapping[str, str], prefix: str = "") -> None:
    """Give a class members that are refused, with these remedies."""
    for name, remedy in remedies.items():
        setattr(owner, name, RefusedMember(f"{prefix}{name}", remedy))
