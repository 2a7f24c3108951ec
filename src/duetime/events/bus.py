"""Subscribers of this process, called after the change they are about was committed."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from duetime.events.filter import EventFilter
from duetime.events.types import Event
from duetime.logs import get_log

log = get_log("duetime.events")


def own_task_cancelled(error: BaseException) -> bool:
    """Return whether the error is a cancellation of the current task. A callee may also raise
    the CancelledError of some other task, which is a plain failure."""
    task = asyncio.current_task()
    cancelling = task is not None and task.cancelling() > 0
    return isinstance(error, asyncio.CancelledError) and cancelling


E = TypeVar("E", bound=Event)


Subscriber = Callable[[E], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class EventSubscription:
    """A subscriber, and which events it wants."""

    subscriber: Subscriber[Any]
    filter: EventFilter


class Events:
    """Subscribers by event type. A subscriber that raises is logged and never disturbs the verb."""

    def __init__(self) -> None:
        self._subscriptions: dict[type[Event], list[EventSubscription]] = {}
        # Referenced here because an event loop keeps only weak references to its tasks.
        self._emitting: set[asyncio.Task[None]] = set()

    def on(self, type_: type[E], subscriber: Subscriber[E], wanted: EventFilter) -> None:
        self._subscriptions.setdefault(type_, []).append(EventSubscription(subscriber, wanted))

    def tables(self) -> list[dict[Any, Any]]:
        """Return what changes when a subscriber is added."""
        return [self._subscriptions]

    @property
    def has_any_subscriber(self) -> bool:
        """Whether there is any; if not, verbs build no events."""
        return bool(self._subscriptions)

    def has_subscribers(self, type_: type[Event]) -> bool:
        """Return whether the type has subscribers; without any, the hot path builds no event."""
        return type_ in self._subscriptions

    def wants(self, type_: type[Event], *, kind: str, tenant: str | None) -> bool:
        """Return whether a subscriber wants the event of this action, before it is built."""
        subscriptions = self._subscriptions.get(type_)
        return subscriptions is not None and any(
            s.filter.accepts_fields(kind=kind, tenant=tenant) for s in subscriptions
        )

    async def emit(self, events: Iterable[Event]) -> None:
        for event in events:
            for subscriber in self._wanting(event):
                try:
                    returned = subscriber(event)
                    if inspect.isawaitable(returned):
                        await returned
                except (Exception, asyncio.CancelledError) as error:
                    if own_task_cancelled(error):
                        raise
                    name = type(event).__name__
                    log.exception("%s: %r failed on %r", name, subscriber, event)

    def emit_soon(self, events: Iterable[Event]) -> None:
        """Emit from a commit hook, which cannot await: on the running loop, if there is one."""
        wanted = [event for event in events if self._wanting(event)]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.emit_blocking(wanted)
            return
        if wanted:
            task = loop.create_task(self.emit(wanted))
            self._emitting.add(task)
            task.add_done_callback(self._emitting.discard)

    def emit_blocking(self, events: Iterable[Event]) -> None:
        """Emit and wait, without using an event loop of the caller's thread."""
        wanted = [event for event in events if self._wanting(event)]
        if wanted:
            context = contextvars.copy_context()
            thread = threading.Thread(target=lambda: context.run(asyncio.run, self.emit(wanted)))
            thread.start()
            thread.join()

    def _wanting(self, event: Event) -> list[Subscriber[Any]]:
        """Return the subscribers that want this event."""
        subscriptions = self._subscriptions.get(type(event), ())
        return [s.subscriber for s in subscriptions if s.filter.accepts(event)]
