"""Logs the stacks of all tasks when a process receives a signal.

A suspended task shows its outermost frame only; the rest is found by following its awaits.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
from collections.abc import Iterator
from types import CodeType
from typing import Any

STACKS_SIGNAL = signal.SIGUSR1
THREADS_SIGNAL = signal.SIGUSR2

log = logging.getLogger("faults.task_stacks")


def log_stacks_on_signal() -> None:
    """Install the signal handlers; call this inside the event loop."""
    asyncio.get_running_loop().add_signal_handler(STACKS_SIGNAL, _log_stacks)
    faulthandler.register(THREADS_SIGNAL)


def _log_stacks() -> None:
    for task in asyncio.all_tasks():
        log.info("task %s: %s", task.get_name(), " > ".join(_frames(task.get_coro())))


def _frames(coroutine: Any) -> Iterator[str]:
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            yield repr(coroutine)
            return
        code: CodeType = frame.f_code
        yield f"{code.co_qualname}:{frame.f_lineno}"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
