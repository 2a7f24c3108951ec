"""One flow at a time on each connection: else the savepoints of two would interleave, and one that
fails would take back what the other has done."""

from __future__ import annotations

import asyncio
import threading
from weakref import WeakValueDictionary

# By the number of the connection, since not every one can be referred to weakly. A lock lives as
# long as somebody is in turn or waits for it, and so long the connection keeps its number.
_thread_locks: WeakValueDictionary[int, threading.RLock] = WeakValueDictionary()
_loop_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
_making = threading.Lock()


def thread_turn(owner: object) -> threading.RLock:
    with _making:
        return _thread_locks.setdefault(id(owner), threading.RLock())


def loop_turn(owner: object) -> asyncio.Lock:
    """Not kept from one event loop to the next: it would belong to the first."""
    with _making:
        return _loop_locks.setdefault(id(owner), asyncio.Lock())
