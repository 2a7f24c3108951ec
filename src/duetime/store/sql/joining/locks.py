"""Locks that let one flow at a time run on a connection.

Without them the savepoints of two flows would interleave, and a failing flow would roll back the
other's work."""

from __future__ import annotations

import asyncio
import threading
from weakref import WeakValueDictionary

# Keyed by the connection's id(), since some connections do not support weak references. A lock
# lives while a flow holds it or waits for it; that flow keeps the connection, and its id, alive.
_thread_locks: WeakValueDictionary[int, threading.RLock] = WeakValueDictionary()
_loop_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
_creation_lock = threading.Lock()


def thread_lock(owner: object) -> threading.RLock:
    with _creation_lock:
        return _thread_locks.setdefault(id(owner), threading.RLock())


def loop_lock(owner: object) -> asyncio.Lock:
    """Return the lock of an async connection. It is not kept: a lock belongs to one event loop."""
    with _creation_lock:
        return _loop_locks.setdefault(id(owner), asyncio.Lock())
