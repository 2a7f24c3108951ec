"""The verbs of a connected app: arguments are checked here, as an app with a store checks them, and
then carried to the server."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from duetime.api.operation import Operation
from duetime.api.requests import to_request
from duetime.registry.runtime import AppRuntime
from duetime.remote.actions import ACTIONS
from duetime.remote.exchange import Exchanger
from duetime.remote.jobs import JOBS
from duetime.remote.notifications import NOTIFICATIONS
from duetime.remote.operators import API_KEYS, AUDIT, GRANTS, QUEUES, WORKERS
from duetime.remote.payloads import RemotePayloads
from duetime.remote.refusals import REFUSED_VERBS, refuse_by, refused
from duetime.remote.route import RemoteCall, RemoteVerb
from duetime.store.flow import Flow

# The verbs that HTTP carries, by noun; those of actions have none.
CARRIED_VERBS: Mapping[str, Mapping[str, RemoteVerb]] = {
    "": ACTIONS,
    "jobs": JOBS,
    "queues": QUEUES,
    "workers": WORKERS,
    "grants": GRANTS,
    "api_keys": API_KEYS,
    "audit": AUDIT,
    "notifications": NOTIFICATIONS,
}
# Verbs whose `by` selects or groups, and is no actor.
BY_SELECTS = frozenset({("", "find"), ("", "groups"), ("", "series"), ("audit", "find")})
# Verbs whose cursor is sealed with what only the server knows of the caller.
SEALED_CURSORS = frozenset(
    {("", "find"), ("jobs", "list"), ("audit", "find"), ("notifications", "list")}
)


class RemoteVerbs:
    """The verbs of one noun. `local` are those of an app that has a store: they are called for
    their checks, and what they would do is never performed."""

    def __init__(self, noun: str, local: Any, runtime: AppRuntime, exchanger: Exchanger) -> None:
        self.runtime = runtime
        self._noun = noun
        self._local = local
        self._exchanger = exchanger

    def __getattr__(self, name: str) -> Callable[..., Operation[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        carried = CARRIED_VERBS[self._noun].get(name)
        full_name = f"{self._noun}.{name}" if self._noun else name
        if carried is None:
            remedy = REFUSED_VERBS.get(self._noun, {}).get(name, "call it where the store is")
            raise refused(full_name, remedy)

        def call(*args: Any, **kwargs: Any) -> Operation[Any]:
            arguments = self._checked(name, args, kwargs)
            if (self._noun, name) not in BY_SELECTS:
                refuse_by(arguments.get("by"))
            payloads = cast("RemotePayloads", self.runtime.payloads)
            return to_operation(carried, RemoteCall(arguments, payloads, self._exchanger))

        return call

    def _checked(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments by name, those that are left out with their defaults. Raises what
        the verb raises for them."""
        verb = getattr(self._local, name)
        bound = inspect.signature(verb).bind(*map(_kept, args), **_kept(kwargs))
        self._write_payloads(bound.arguments)
        arguments = _by_name(bound)
        if (self._noun, name) in SEALED_CURSORS:
            bound.arguments.pop("cursor", None)
        verb(*bound.args, **bound.kwargs)
        return arguments

    def _write_payloads(self, arguments: dict[str, Any]) -> None:
        """Replace payloads by what is sent of them."""
        payloads = cast("RemotePayloads", self.runtime.payloads)
        if arguments.get("payload") is not None:
            arguments["payload"] = payloads.written(arguments["payload"])
        if isinstance(arguments.get("requests"), Iterable):
            requests = map(to_request, arguments["requests"])
            arguments["requests"] = [
                request._replace(payload=payloads.written(request.payload)) for request in requests
            ]


def to_operation(verb: RemoteVerb, call: RemoteCall) -> Operation[Any]:
    """Return the operation of a verb. Its flow makes exchanges, so that only `RemoteStore` can
    perform it."""
    flow: Flow[Any] = Flow(cast("Any", lambda: verb(call)))
    return Operation(flow, lambda result: result, connection=call.arguments.get("connection"))


def _by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    whole = inspect.BoundArguments(bound.signature, dict(bound.arguments))
    whole.apply_defaults()
    arguments: dict[str, Any] = dict(whole.arguments)
    return {**arguments, **arguments.pop("arguments", {})}


def _kept(value: Any) -> Any:
    """Return a value that can be read twice, by the check and by the request."""
    if isinstance(value, Mapping):
        return {name: _kept(item) for name, item in value.items()}
    return list(value) if isinstance(value, Iterator) else value
