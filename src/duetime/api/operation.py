"""The call of a verb, checked and ready to be performed: awaited or blocking."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from duetime.events.outbox import Outbox
from duetime.events.types import Event
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.current_transaction import current_joined_store
from duetime.store.flow import Flow
from duetime.store.transaction import JoinedStore
from duetime.telemetry.sdk import traces
from duetime.telemetry.tracing import SPAN_OF_VERB

if TYPE_CHECKING:
    from duetime.telemetry.spans import ActSpan

P = ParamSpec("P")
T = TypeVar("T")


class BoundVerbs(Protocol):
    """Verbs that build operations for one runtime, on which these are performed."""

    runtime: AppRuntime


C = TypeVar("C", bound=BoundVerbs)


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A flow, and what to do with the value that it returns.

    `to_result` converts the value for the caller. After the commit `count` reports it to the
    meters, and `events` says which events it implies. `connection` is the caller's, if the flow
    is to join the transaction there.
    """

    flow: Flow[Any]
    to_result: Callable[[Any], T]
    count: Callable[[Any], None] = lambda _: None
    events: Callable[[Any], Iterable[Event]] | None = None
    connection: object = None
    # Whether subscriptions to notifications may want its events.
    notifies: bool = False

    def with_outbox(self, outbox: Outbox) -> Flow[Any]:
        """The flow, extended to insert actions for durable subscribers, and rows for notifications,
        in its transaction."""
        if self.events is None:
            return self.flow
        return outbox.with_outbox(self.flow, self.events, notifies=self.notifies)

    def events_for(self, stored: object) -> Iterable[Event]:
        return () if self.events is None else self.events(stored)

    def joined_store(self, store: Store) -> JoinedStore | None:
        """The joined store on the caller's connection, or on that of the transactional handler
        in which this runs; None to use a connection of the store."""
        if self.connection is None:
            return current_joined_store(store)
        return store.join(self.connection)

    def after_commit(
        self,
        joined: JoinedStore,
        stored: object,
        emit: Callable[[Iterable[Event]], None],
        span: ActSpan | None,
    ) -> None:
        """Count, emit events and end the span once the caller has committed.

        Where the commit cannot be observed, count now and emit no events, since the change may
        yet be rolled back. A handler's raw connection does not report its savepoints: changes
        that a savepoint rolled back are counted and emitted with the others.
        """

        def committed() -> None:
            self.count(stored)
            emit(self.events_for(stored))
            if span is not None:
                span.committed()

        if not joined.after_commit(committed):
            self.count(stored)
        elif span is not None:
            span.defer()


def async_verb(
    verb: Callable[Concatenate[C, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Turn a verb that builds an operation into a coroutine that performs the operation.

    The coroutine returns after the commit. On a connection of the caller it returns after the
    statements, and the caller commits.
    """

    traced = verb.__name__ in SPAN_OF_VERB

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # Read once: the app may have been given another store before the next call.
        verbs = self._verbs
        if not (traced and traces()):
            return await perform(_own(verb, verbs)(*args, **kwargs), verbs.runtime)
        span = verbs.runtime.tracing.act(verb.__name__)
        with span.current():
            return await perform(_own(verb, verbs)(*args, **kwargs), verbs.runtime, span)

    return call


def _own(verb: Callable[Concatenate[C, P], Operation[T]], verbs: C) -> Callable[P, Operation[T]]:
    """Return the verb as these verbs have it: those of a connected app ask its server."""
    own: Callable[P, Operation[T]] = getattr(verbs, verb.__name__)
    return own


async def perform(operation: Operation[T], runtime: AppRuntime, span: ActSpan | None = None) -> T:
    """Perform an operation; return after the commit, or on a connection of the caller after the
    statements."""
    joined, flow = operation.joined_store(runtime.store), operation.with_outbox(runtime.outbox)
    if joined is None:
        stored = await runtime.store.perform(flow)
        operation.count(stored)
        if operation.events is not None and runtime.events.has_any_subscriber:
            await runtime.events.emit(operation.events(stored))
    else:
        stored = await joined.perform(flow)
        operation.after_commit(joined, stored, runtime.events.emit_soon, span)
    return _described(operation.to_result(stored), span)


def _described(result: T, span: ActSpan | None) -> T:
    if span is not None:
        span.describe(result)
    return result


def blocking_verb(
    verb: Callable[Concatenate[C, P], Operation[T]],
) -> Callable[Concatenate[Any, P], T]:
    """Turn a verb that builds an operation into a method that performs the operation.

    The method returns after the commit. On a connection of the caller it returns after the
    statements, and the caller commits.
    """

    traced = verb.__name__ in SPAN_OF_VERB

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        verbs = self._verbs
        if not (traced and traces()):
            return _perform_blocking(_own(verb, verbs)(*args, **kwargs), verbs.runtime)
        span = verbs.runtime.tracing.act(verb.__name__)
        with span.current():
            return _perform_blocking(_own(verb, verbs)(*args, **kwargs), verbs.runtime, span)

    return call


def _perform_blocking(
    operation: Operation[T], runtime: AppRuntime, span: ActSpan | None = None
) -> T:
    joined, flow = operation.joined_store(runtime.store), operation.with_outbox(runtime.outbox)
    if joined is None:
        stored = runtime.store.perform_blocking(flow)
        operation.count(stored)
        if operation.events is not None and runtime.events.has_any_subscriber:
            runtime.events.emit_blocking(operation.events(stored))
    else:
        stored = joined.perform_blocking(flow)
        operation.after_commit(joined, stored, runtime.events.emit_blocking, span)
    return _described(operation.to_result(stored), span)
