"""A verb of the client that is ready to be performed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from duetime.events.outbox import Outbox
from duetime.events.types import Event
from duetime.store.base import Store
from duetime.store.current_transaction import current_joined
from duetime.store.flow import Flow
from duetime.store.transaction import Joined

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """The flow, the caller's connection if it is to be part of a transaction there, what to make
    of its value; and, once that is committed, what to count and to tell."""

    flow: Flow[Any]
    then: Callable[[Any], T]
    count: Callable[[Any], None] = lambda _: None
    tell: Callable[[Any], Iterable[Event]] | None = None
    connection: object = None

    def kept_by(self, outbox: Outbox) -> Flow[Any]:
        """The flow, with what its transaction keeps for durable subscribers."""
        return self.flow if self.tell is None else outbox.telling(self.flow, self.tell)

    def told(self, stored: object) -> Iterable[Event]:
        return () if self.tell is None else self.tell(stored)

    def joined(self, store: Store) -> Joined | None:
        """Where to perform it, if not on a connection of ours: the caller's, or that of the
        handler which calls."""
        if self.connection is None:
            return current_joined(store)
        return store.join(self.connection)

    def after_commit(
        self, joined: Joined, stored: object, emit: Callable[[Iterable[Event]], None]
    ) -> None:
        """Count and tell when the caller has committed. Where we cannot know when, it counts
        now, and nobody is told of what may yet be rolled back; a handler's raw connection says
        nothing of its savepoints, so that what one took back is told with the rest."""

        def committed() -> None:
            self.count(stored)
            emit(self.told(stored))

        if not joined.after_commit(committed):
            self.count(stored)
