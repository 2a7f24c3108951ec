"""Handlers: which function runs a kind, and how."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, cast

from duetime.errors import ConfigError, InvalidPayload, shown
from duetime.model.actions.retry import Retry
from duetime.model.payloads.registry import Payloads, PayloadType, is_data
from duetime.registry.context import Context
from duetime.registry.injection import Node, Providers, Style, hints, label, plan
from duetime.store.transaction import Opener

# What may hold the transaction of a plain function, and of an async one.
PLAIN = "Session, psycopg.Connection or sqlite3.Connection"
AWAITED = "AsyncSession or psycopg.AsyncConnection"

Openers = Callable[[Any], Opener | None]


@dataclass(frozen=True, slots=True)
class Handler:
    """A user's function for one kind."""

    payload: PayloadType
    function: Callable[..., Any]
    node: Node
    retry: Retry
    timeout: float | None
    # Makes the transaction that a transactional handler works in.
    opener: Opener | None = None
    # A job may do without.
    takes_payload: bool = True

    def arguments(self, payload: object) -> tuple[object, ...]:
        return (payload,) if self.takes_payload else ()

    @property
    def in_thread(self) -> bool:
        """Whether the function itself runs in a thread, where nothing can interrupt it."""
        return self.node.style is Style.plain


class Asked:
    """Notes which transaction the parameters of a handler, and of what it depends on, ask for."""

    def __init__(self, openers: Openers | None) -> None:
        self._openers = openers
        self._found: dict[Any, Opener] = {}

    def __call__(self, annotation: Any) -> bool:
        opener = None if self._openers is None else self._openers(annotation)
        if opener is not None:
            self._found[annotation] = opener
        return opener is not None

    def opener(self, node: Node) -> Opener:
        name, plain = label(node.function), node.style is Style.plain
        if len(self._found) != 1:
            found = " and ".join(getattr(one, "__name__", repr(one)) for one in self._found)
            raise ConfigError(
                f"{name} is transactional=True and asks for {found or 'no transaction'}: annotate "
                f"one parameter as {PLAIN if plain else AWAITED}"
            )
        [opener] = self._found.values()
        if opener.blocking and not plain:
            raise ConfigError(f"{name} is async, and would block in its transaction: use {AWAITED}")
        if plain and not opener.blocking:
            raise ConfigError(f"{name} is no async function, and its transaction is: use {PLAIN}")
        return opener


class Handlers:
    """The handlers of one app, by kind."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._by_kind: dict[str, Handler] = {}

    def add(
        self,
        payload: PayloadType,
        function: Callable[..., Any],
        *,
        retry: Retry,
        timeout: float | None,
        providers: Providers,
        scope: Mapping[str, Any],
        openers: Openers | None = None,
        takes_payload: bool = True,
    ) -> Handler:
        """With `openers` it is transactional: they know which annotations ask for what."""
        asked = Asked(openers)
        node = plan(function, providers, scope, asked, takes_payload=takes_payload)
        if node.style in (Style.generator, Style.async_generator):
            raise ConfigError(f"{label(function)} yields; a handler returns, a dependency yields")
        other = self._by_kind.get(payload.kind)
        if other is not None:
            raise ConfigError(
                f"kind {payload.kind!r} is already handled by {label(other.function)}; "
                f"{label(function)} needs a kind of its own"
            )
        if not isinstance(retry, Retry):
            raise ConfigError(
                f"retry={shown(retry)} of {label(function)} is no policy: write "
                "Retry(attempts=3), Retry(delays=[10, 60]) or Retry.none()"
            )
        opener = None if openers is None else asked.opener(node)
        handler = Handler(payload, function, node, retry, timeout, opener, takes_payload)
        self._by_kind[payload.kind] = handler
        return handler

    def get(self, kind: str) -> Handler | None:
        """The handler of a kind, by whichever of its names."""
        return self._by_kind.get(self._payloads.wire_name(kind))

    def find(self, kind: str, version: int) -> Handler | None:
        """The handler of a kind, if it understands that version of the payload."""
        entry = self._payloads.find(kind)
        if entry is None or entry.version < version:
            return None
        return self._by_kind.get(entry.kind)

    def runs(self, kind: str, version: int) -> bool:
        """Whether a worker of this app can run that version of the kind."""
        return self.find(kind, version) is not None

    def kinds(self) -> list[str]:
        """Every wire name that a worker of this app runs, aliases included."""
        return [kind for kind in self._payloads.kinds() if self.get(kind) is not None]


def payload_type(function: Callable[..., Any], scope: Mapping[str, Any]) -> type[Any]:
    """The annotation of a handler's first parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise ConfigError(f"{label(function)} takes no payload; a handler's first parameter is it")
    annotation = hints(function, scope).get(parameters[0].name)
    if annotation is None:
        raise ConfigError(
            f"{label(function)} has no payload annotation: write "
            f"`{parameters[0].name}: YourPayload`, a dataclass or a pydantic model"
        )
    if annotation is Context:
        raise ConfigError(f"{label(function)}: the payload comes first, Context after it")
    if not inspect.isclass(annotation):
        raise ConfigError(
            f"the payload of {label(function)} is annotated {annotation!r}; "
            "use one dataclass or pydantic model"
        )
    return annotation


def job_payload_type(
    function: Callable[..., Any], scope: Mapping[str, Any], providers: Providers, payload: object
) -> type[Any]:
    """What the function of a job takes: the type of its first parameter, if that is data."""
    parameters = list(inspect.signature(function).parameters.values())
    first: Any = hints(function, scope).get(parameters[0].name) if parameters else None
    if first is not Context and first not in providers and is_data(first):
        if not isinstance(payload, first):
            raise InvalidPayload(
                label(function),
                f"it takes {first.__qualname__}: give payload={first.__qualname__}(...)",
            )
        return cast("type[Any]", first)
    if payload is not None:
        raise InvalidPayload(
            label(function),
            f"payload={shown(payload)}, but its first parameter is no dataclass or pydantic model",
        )
    return NoneType
