"""An event loop in virtual time, shared by several simulated processes.

The loop never blocks: when nothing is ready it jumps to the next timer. Every callback belongs
to the process that scheduled it, so that a process can be frozen or killed as a whole.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVarTuple, Unpack

Ts = TypeVarTuple("Ts")


# More steps than this without progress of virtual time are a busy loop.
MAX_STEPS_PER_MOMENT = 100_000


class Deadlock(Exception):
    """The history makes no progress: nothing is ready, or virtual time stands still."""


class Process:
    """A simulated process: its tasks and callbacks run, freeze and die together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.dead = False
        self.backlog: list[asyncio.Handle] = []
        self.tasks: dict[SimTask, None] = {}

    def holds_back(self, handle: asyncio.Handle) -> bool:
        """Whether to withhold a callback: queued while frozen; once dead, only tasks unwind."""
        if self.dead:
            return not isinstance(_task_of(handle._callback), SimTask)  # type: ignore[attr-defined]
        if self.frozen:
            self.backlog.append(handle)
        return self.frozen


class SimTask(asyncio.Task[Any]):
    """A task with its process and a number.

    The number is the hash of the task, so that sets of tasks have the same order in every replay.
    """

    def __init__(self, coro: Coroutine[Any, Any, Any], *, loop: SimLoop, **options: Any) -> None:
        self.process = loop.current
        self.number = next(loop.numbers)
        self.created_at = loop.time()
        super().__init__(coro, loop=loop, **options)

    def __hash__(self) -> int:
        return self.number


class _ReadyHandle(asyncio.Handle):
    __slots__ = ("process",)

    process: Process | None

    def _run(self) -> None:
        _run_in(self.process, self, super()._run)


class _TimerHandle(asyncio.TimerHandle):
    __slots__ = ("process",)

    process: Process | None

    def _run(self) -> None:
        _run_in(self.process, self, super()._run)


def _run_in(process: Process | None, handle: asyncio.Handle, run: Callable[[], None]) -> None:
    loop: SimLoop = handle._loop  # type: ignore[attr-defined]
    if process is None or not process.holds_back(handle):
        loop.current = process
        run()


def _task_of(callback: object) -> object:
    return getattr(callback, "__self__", None)


class SimLoop(asyncio.SelectorEventLoop):
    """The event loop of one history.

    `current` is the process whose code runs. None is the simulation itself, which neither
    freezes nor dies.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._queue: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.Handle]] = []
        self.numbers = itertools.count(1)
        self.current: Process | None = None
        self.steps = 0
        self._steps_at_last_jump = 0
        self.errors: list[str] = []
        self.play: Callable[[int, Any], Awaitable[object]]
        super().__init__()
        self.set_task_factory(_make_task)

    def time(self) -> float:
        return self._now

    # -- processes -------------------------------------------------------------------

    @contextmanager
    def within(self, process: Process | None) -> Iterator[None]:
        """Attribute what is started in this context to `process`."""
        before, self.current = self.current, process
        try:
            yield
        finally:
            self.current = before

    def spawn(self, process: Process | None, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        with self.within(process):
            return self.create_task(coro)

    def call_later_outside(self, delay: float, callback: Callable[..., object], *args: Any) -> None:
        with self.within(None):
            self.call_later(delay, callback, *args)

    def freeze(self, process: Process) -> None:
        process.frozen = True

    def thaw(self, process: Process) -> None:
        """Run everything that became ready meanwhile, in order."""
        process.frozen = False
        self._queue.extend(process.backlog)
        process.backlog.clear()

    def kill(self, process: Process) -> None:
        """Run nothing of this process any more; its tasks are cancelled."""
        process.dead = True
        self.thaw(process)
        for task in list(process.tasks):
            task.cancel()

    # -- overrides of asyncio --------------------------------------------------------

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = _ReadyHandle(callback, args, self, context)
        handle.process = self._process_of(callback)
        self._queue.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = _TimerHandle(when, callback, args, self, context)
        handle.process = self.current
        heapq.heappush(self._timers, (when, next(self.numbers), handle))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Record an uncaught exception, which is a violation."""
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _process_of(self, callback: object) -> Process | None:
        """The steps of a task belong to its process, no matter which process made it ready."""
        task = _task_of(callback)
        return task.process if isinstance(task, SimTask) else self.current

    def _run_once(self) -> None:
        if not self._queue:
            self._jump()
        elif self.steps - self._steps_at_last_jump > MAX_STEPS_PER_MOMENT:
            raise Deadlock(
                f"more than {MAX_STEPS_PER_MOMENT} steps at {self._now:.3f} s: {self._queue[0]!r}"
            )
        for _ in range(len(self._queue)):
            handle = self._queue.popleft()
            if not handle.cancelled():
                self.steps += 1
                handle._run()

    def _jump(self) -> None:
        """Advance the time to the next timer, and queue all timers that are then due."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise Deadlock(f"nothing is scheduled after {self._now:.3f} s")
        if timers[0][0] > self._now:
            self._now, self._steps_at_last_jump = timers[0][0], self.steps
        while timers and timers[0][0] <= self._now:
            self._queue.append(heapq.heappop(timers)[2])


def _make_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> SimTask:
    assert isinstance(loop, SimLoop)
    task = SimTask(coro, loop=loop, **options)
    process = task.process
    if process is not None:
        process.tasks[task] = None
        task.add_done_callback(lambda done: process.tasks.pop(task, None))
        if process.dead:
            task.cancel()
    return task
