"""Handlers: which function runs a kind, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, cast

from duetime.errors import ConfigError, InvalidPayload, shown
from duetime.model.actions.retry import Retry
from duetime.model.jobs.limits import RunLimits
from duetime.model.payloads.registry import Payloads, PayloadType, is_data
from duetime.registry.context import Context
from duetime.registry.injection import Node, Providers, Style, hints, label, plan
from duetime.registry.middleware import Middleware, refuse_repeated
from duetime.store.transaction import TransactionFactory

# Parameter types that carry the transaction of a sync handler, and of an async one.
SYNC_TRANSACTION_TYPES = "Session, psycopg.Connection or sqlite3.Connection"
ASYNC_TRANSACTION_TYPES = "AsyncSession or psycopg.AsyncConnection"

FactoryLookup = Callable[[Any], TransactionFactory | None]


@dataclass(frozen=True, slots=True)
class Handler:
    """A user's function for one kind."""

    payload: PayloadType
    function: Callable[..., Any]
    node: Node
    retry: Retry
    timeout: float | None
    # The annotation of the parameter that carries the transaction of a transactional handler.
    transaction_type: Any = None
    # False for a job without a payload.
    takes_payload: bool = True
    # Runs around each call, the outermost first.
    middleware: tuple[Middleware, ...] = ()
    # Whether a call of the function is all that a run needs: no thread, dependency or middleware.
    direct: bool = field(init=False)

    def __post_init__(self) -> None:
        needs_nothing = not self.node.blocking and not self.node.sources and not self.middleware
        object.__setattr__(self, "direct", needs_nothing)

    def with_limits(self, limits: RunLimits) -> Handler:
        """Return this handler for the runs of a job that sets limits of its own."""
        timeout = self.timeout if limits.timeout is None else limits.timeout
        return replace(self, retry=limits.retry_beside(self.retry), timeout=timeout)

    def arguments(self, payload: object) -> tuple[object, ...]:
        return (payload,) if self.takes_payload else ()

    @property
    def in_thread(self) -> bool:
        """Whether the function itself runs in a thread, where it cannot be interrupted."""
        return self.node.style is Style.plain


class RequestedTransactions:
    """Collects the transaction types that a handler and its dependencies request as parameters."""

    def __init__(self, factory_for: FactoryLookup | None) -> None:
        self._factory_for = factory_for
        self._factories: dict[Any, TransactionFactory] = {}

    def __call__(self, annotation: Any) -> bool:
        """Return whether the annotation is a transaction type."""
        factory = None if self._factory_for is None else self._factory_for(annotation)
        if factory is not None:
            self._factories[annotation] = factory
        return factory is not None

    def only_type(self, node: Node) -> Any:
        """Return the one requested type; raise ConfigError if it does not fit the handler."""
        name, plain = label(node.function), node.style is Style.plain
        if len(self._factories) != 1:
            names = " and ".join(
                getattr(type_, "__name__", repr(type_)) for type_ in self._factories
            )
            raise ConfigError(
                f"{name} is transactional=True and asks for {names or 'no transaction'}: annotate "
                f"one parameter as {SYNC_TRANSACTION_TYPES if plain else ASYNC_TRANSACTION_TYPES}"
            )
        [(requested, factory)] = self._factories.items()
        if factory.blocking and not plain:
            raise ConfigError(
                f"{name} is async, but its transaction would block: use {ASYNC_TRANSACTION_TYPES}"
            )
        if plain and not factory.blocking:
            raise ConfigError(
                f"{name} is not async, but its transaction is: use {SYNC_TRANSACTION_TYPES}"
            )
        return requested


class Handlers:
    """The handlers of one app, by kind."""

    def __init__(self, payloads: Payloads, *, complete: bool = True) -> None:
        """Without `complete` these are a router's: any annotated parameter may be filled by the
        app that includes it."""
        self._payloads = payloads
        self._complete = complete
        self._by_kind: dict[str, Handler] = {}
        # Around all handlers, outside of the middleware that belongs to some of them.
        self._middleware: tuple[Middleware, ...] = ()

    def add_middleware(self, function: Middleware) -> None:
        """Run `function` around every handler, also around those that are declared already."""
        known = len(self._middleware)
        changed = {
            kind: replace(
                handler,
                middleware=(*self._middleware, function, *handler.middleware[known:]),
            )
            for kind, handler in self._by_kind.items()
        }
        for middleware in (
            (*self._middleware, function),
            *(h.middleware for h in changed.values()),
        ):
            refuse_repeated(middleware)
        self._middleware = (*self._middleware, function)
        self._by_kind.update(changed)

    def add(
        self,
        payload: PayloadType,
        function: Callable[..., Any],
        *,
        retry: Retry,
        timeout: float | None,
        providers: Providers,
        scope: Mapping[str, Any],
        factory_for: FactoryLookup | None = None,
        takes_payload: bool = True,
        middleware: tuple[Middleware, ...] = (),
    ) -> Handler:
        """Register a handler. With `factory_for`, which maps annotations to transaction
        factories, the handler is transactional. `middleware` belongs to this handler, inside of
        the middleware of all handlers."""
        requested = RequestedTransactions(factory_for)

        def fills_by_app(annotation: Any) -> bool:
            return annotation is not None and annotation not in providers

        is_transaction = requested if self._complete else fills_by_app
        node = plan(function, providers, scope, is_transaction, takes_payload=takes_payload)
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
                f"retry={shown(retry)} of {label(function)} is not a retry policy: write "
                "Retry(attempts=3), Retry(delays=[10, 60]) or Retry.none()"
            )
        transaction = None if factory_for is None else requested.only_type(node)
        chain = (*self._middleware, *middleware)
        refuse_repeated(chain)
        handler = Handler(
            payload, function, node, retry, timeout, transaction, takes_payload, chain
        )
        self._by_kind[payload.kind] = handler
        return handler

    def take(self, kind: str, others: Handlers) -> None:
        """Add the handler that other handlers have for a kind."""
        self._by_kind[kind] = others._by_kind[kind]

    def tables(self) -> list[dict[Any, Any]]:
        """Return what changes when a handler is added."""
        return [self._by_kind]

    def get(self, kind: str) -> Handler | None:
        """Return the handler of a kind, given the kind's current name or an alias."""
        return self._by_kind.get(self._payloads.wire_name(kind))

    def find(self, kind: str, version: int) -> Handler | None:
        """Return the handler of a kind if it understands that version of the payload."""
        entry = self._payloads.find(kind)
        if entry is None or entry.version < version:
            return None
        return self._by_kind.get(entry.kind)

    def runs(self, kind: str, version: int) -> bool:
        """Return whether a worker of this app can run that version of the kind."""
        return self.find(kind, version) is not None

    def queues(self) -> set[str]:
        """Return the queues that the declared kinds use by default."""
        return {handler.payload.queue for handler in self._by_kind.values()}

    def kinds(self) -> list[str]:
        """Return every wire name that a worker of this app runs, aliases included."""
        return [kind for kind in self._payloads.kinds() if self.get(kind) is not None]


def payload_type(function: Callable[..., Any], scope: Mapping[str, Any]) -> type[Any]:
    """Return the annotation of a handler's first parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise ConfigError(
            f"{label(function)} takes no payload; a handler's first parameter is its payload"
        )
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
    """Return the payload type of a job's function: the type of its first parameter if that is
    data, else NoneType."""
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
            f"payload={shown(payload)}, but its first parameter is not a dataclass or pydantic "
            "model",
        )
    return NoneType
