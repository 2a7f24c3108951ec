"""TODO."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from duetime.events.types import Event

log = logging.getLogger("duetime.events")


def is_cancelled(error: BaseException) -> bool:
    """Whether our own task is asked to end. What was called may also have met a task that
    somebody else cancelled, which is its own affair."""
    task = asyncio.current_task()
    asked = task is not None and task.cancelling() > 0
    return isinstance(error, asyncio.CancelledError) and asked


E = TypeVar("E", bound=Event)


Subscriber = Callable[[E], Awaitable[None] | None]


class Events:
    """Subscribers by event type. One that raises is logged and never disturbs the verb."""

    def __init__(self) -> None:
        self._subscribers: dict[type[Event], list[Subscriber[Any]]] = {}
        # Kept: a loop alone does not keep its tasks.
        self._telling: set[asyncio.Task[None]] = set()

    def on(self, type_: type[E], subscriber: Subscriber[E]) -> None:
        self._subscribers.setdefault(type_, []).append(subscriber)

    def wanted(self, type_: type[Event]) -> bool:
        """Whether anybody listens: the hot path builds no event for nobody."""
        return type_ in self._subscribers

    async def emit(self, events: Iterable[Event]) -> None:
        for event in events:
            for subscriber in self._subscribers.get(type(event), ()):
                try:
                    told = subscriber(event)
                    if inspect.isawaitable(told):
                        await told
                except (Exception, asyncio.CancelledError) as error:
                    if is_cancelled(error):
                        raise
                    name = type(event).__name__
                    log.exception("%s: %r failed on %r", name, subscriber, event)

    def emit_soon(self, events: Iterable[Event]) -> None:
        """From a hook of the caller's connection, which cannot await: on the loop that runs
        here, if one does."""
        told = [e for e in events if self.wanted(type(e))]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.emit_blocking(told)
            return
        if told:
            task = loop.create_task(self.emit(told))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def emit_blocking(self, events: Iterable[Event]) -> None:
        """The same without a loop of ours; the caller's thread may have one running."""
        told = [e for e in events if self.wanted(type(e))]
        if told:
            context = contextvars.copy_context()
            thread = threading.Thread(target=lambda: context.run(asyncio.run, self.emit(told)))
            thread.start()
            thread.join()
