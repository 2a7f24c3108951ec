"""Calls of verbs, and the routes by which they are carried: method, path, query, body, answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

from duetime.errors import DuetimeError
from duetime.model.actions.action import Action
from duetime.model.tenant import AMBIENT, ANY, current_tenant
from duetime.remote.documents import MalformedDocument
from duetime.remote.exchange import Exchanger
from duetime.remote.http import HttpRequest, HttpResponse, HttpSteps, Method
from duetime.remote.payloads import RemotePayloads
from duetime.remote.problems import completed, no_api

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A call of a verb, whose arguments were checked."""

    arguments: Arguments
    payloads: RemotePayloads
    exchanger: Exchanger

    def given(self, **arguments: Any) -> RemoteCall:
        """Return the call with other values of some arguments."""
        return replace(self, arguments={**self.arguments, **arguments})

    def send(self, route: Route) -> HttpSteps[Any]:
        """Make the exchange of a route, and return what its answer says."""
        try:
            response = yield from self.exchanger.send(route.request(self.arguments))
        except DuetimeError as error:
            raise completed(error, self.arguments) from None
        return self._read(route, response)

    def _read(self, route: Route, response: HttpResponse) -> Any:
        try:
            return route.read(self, response.json())
        except (MalformedDocument, ValueError, TypeError, LookupError, RecursionError) as error:
            found = f"answered {route.path} with an unknown document ({error})"
            raise no_api(self.exchanger.address, found) from None


class Null:
    """Stands for an argument that is sent as null; what is None is not sent."""


NULL = Null()

# Makes the exchanges of a verb's call, and returns its result.
RemoteVerb = Callable[[RemoteCall], HttpSteps[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route, which arguments of a verb go where, and how its answer is read.

    `{name}` in the path is an argument. A `keyed` act is recognised by its Idempotency-Key, and
    done once; `represented` asks for what an act changed; `patience` names the argument that says
    how long the server waits. The tenant goes into the query, unless the body has it.
    """

    method: Method
    path: str
    read: Callable[[RemoteCall, Any], Any]
    query: tuple[str, ...] = ()
    body: tuple[str, ...] | None = None
    repeatable: bool = False
    keyed: bool = False
    represented: bool = False
    patience: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, call: RemoteCall) -> HttpSteps[Any]:
        return call.send(self)

    def request(self, arguments: Arguments) -> HttpRequest:
        return HttpRequest(
            method=self.method,
            path=to_path(self.path, arguments),
            query=[*_tenant(arguments, self.body), *to_query(arguments, self.query)],
            body=None if self.body is None else to_body(arguments, self.body),
            headers=self._headers(),
            repeatable=self.repeatable or self.keyed or self.method == "GET",
            patience=0.0 if self.patience is None else float(arguments[self.patience]),
        )

    def _headers(self) -> Mapping[str, str]:
        prefer = {"Prefer": "return=representation"} if self.represented else {}
        key = {"Idempotency-Key": str(uuid4())} if self.keyed else {}
        return {**self.headers, **prefer, **key}


# -- arguments as text and JSON -------------------------------------------------------------------


def to_path(template: str, arguments: Arguments) -> str:
    """Fill the path. A name of dots would be a step in the path to servers and proxies."""
    path = template
    for name in ("action_id", "name", "grant_id", "key_id", "id"):
        if f"{{{name}}}" in template:
            text = quote(str(arguments[name]), safe="")
            path = path.replace(
                f"{{{name}}}", text if text.strip(".") else text.replace(".", "%2E")
            )
    return path


def to_query(arguments: Arguments, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        value = to_json(arguments.get(name))
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield name, str(item).lower() if isinstance(item, bool) else str(item)


def to_body(arguments: Arguments, names: Iterable[str]) -> dict[str, Any]:
    """Return the arguments as JSON. What is None is left to the server."""
    given = {name: to_json(arguments.get(name)) for name in names}
    sent = {name: value for name, value in given.items() if value is not None}
    return {name: None if value is NULL else value for name, value in sent.items()}


def _tenant(arguments: Arguments, body: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Return whose rows are asked for. Without it, the server takes those of the credential; an
    empty tenant means rows that have none."""
    tenant = arguments.get("tenant", ANY)
    if tenant is AMBIENT:
        tenant = current_tenant() or ANY
    if tenant is ANY or (body is not None and "tenant" in body):
        return []
    return [("tenant", tenant or "")]


def to_json(value: Any) -> Any:
    """Return a value as JSON has it: instants in UTC, durations in seconds, actions by their id."""
    match value:
        case Action():
            return str(value.id)
        case Enum():
            return value.value
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {name: to_json(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [to_json(item) for item in value]
        case _:
            return value
