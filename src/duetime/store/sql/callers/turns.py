"""One flow at a time on each connection: else the savepoints of two would interleave, and one that
fails would take back what the other has done."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

_thread_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_loop_locks: WeakKeyDictionary[Any, asyncio.Lock] = WeakKeyDictionary()
_making = threading.Lock()


def thread_turn(owner: object) -> AbstractContextManager[Any]:
    try:
        with _making:
            return _thread_locks.setdefault(owner, threading.RLock())
    except TypeError:
        return nullcontext()  # sqlite3's, which serve one thread


def loop_turn(owner: object) -> AbstractAsyncContextManager[Any]:
    with _making:
        return _loop_locks.setdefault(owner, asyncio.Lock())
