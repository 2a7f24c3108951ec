"""The current transaction of a running handler: verbs that the handler calls join it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from duetime.store.base import Store
from duetime.store.transaction import JoinedStore


@dataclass(slots=True)
class _CurrentTransaction:
    store: Store
    joined: JoinedStore
    closed: bool = False


_current: ContextVar[_CurrentTransaction | None] = ContextVar("duetime_transaction", default=None)


def current_joined_store(store: Store) -> JoinedStore | None:
    """Return the store as joined to the current transaction; None outside of a transaction of this
    store, and in a task that outlived the handler that started it."""
    current = _current.get()
    if current is None or current.store is not store or current.closed:
        return None
    return current.joined


@contextmanager
def use_transaction(store: Store, joined: JoinedStore) -> Iterator[None]:
    """Make every verb inside the context part of this transaction."""
    current = _CurrentTransaction(store, joined)
    token = _current.set(current)
    try:
        yield
    finally:
        current.closed = True
        _current.reset(token)
