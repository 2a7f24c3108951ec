"""Threads for sync handlers: as many as run at once, none of which keeps a process alive."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
QueuedCall = tuple[Callable[[], Any], "Future[Any]"]


class Threads:
    """Runs each call in an idle thread, or a new one: no call waits for another.

    Not a ThreadPoolExecutor, because the interpreter joins its threads at exit, and a handler that
    outlives the grace time must not block the exit of the process.
    """

    def __init__(self, name: str = "duetime-handler") -> None:
        self._name = name
        self._queue: queue.SimpleQueue[QueuedCall | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0
        self._closed = False

    async def run(self, call: Callable[[], T]) -> T:
        """Run `call` in a thread with this task's context variables, and wait for it."""
        return await self.start(call)

    def start(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Start `call` in a thread with this task's context variables."""
        context = contextvars.copy_context()
        future: Future[T] = Future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._start()
        self._queue.put((lambda: context.run(call), future))
        return asyncio.wrap_future(future)

    def close(self) -> None:
        """Let idle threads finish. Busy threads finish after their call, and so do threads started
        later."""
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._queue.put(None)
            self._idle = 0

    def _start(self) -> None:
        self._threads += 1
        name = f"{self._name}-{self._threads}"
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while (queued := self._queue.get()) is not None:
            call, future = queued
            if future.set_running_or_notify_cancel():
                _deliver(call, future)
            with self._lock:
                if self._closed:
                    return
                self._idle += 1


def _deliver(call: Callable[[], Any], future: Future[Any]) -> None:
    """Set the future to the result of the call, or to anything it raised, SystemExit included."""
    try:
        value = call()
    except (StopIteration, GeneratorExit) as error:
        # Futures must not carry these: the waiting coroutine would never wake, or be closed.
        future.set_exception(RuntimeError(f"raised {type(error).__name__}({error})"))
    except BaseException as error:  # noqa: BLE001
        future.set_exception(error)
    else:
        future.set_result(value)
