"""The transaction that the running handler works in: verbs called there are part of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from duetime.store.base import Store
from duetime.store.transaction import Joined


@dataclass(slots=True)
class _Current:
    store: Store
    joined: Joined
    over: bool = False


_current: ContextVar[_Current | None] = ContextVar("duetime_transaction", default=None)


def current_joined(store: Store) -> Joined | None:
    """How to reach this store from here, if not on a connection of its own. A task that outlives
    the handler that started it is on its own again."""
    found = _current.get()
    return found.joined if found is not None and found.store is store and not found.over else None


@contextmanager
def within(store: Store, joined: Joined) -> Iterator[None]:
    """Every verb inside is part of this transaction."""
    here = _Current(store, joined)
    mark = _current.set(here)
    try:
        yield
    finally:
        here.over = True
        _current.reset(mark)
