"""Where the tasks of a process wait: written to its log when it is asked by a signal.

A task that is suspended tells its outermost frame only; what it waits for in the end is found
from one coroutine to the next.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
from collections.abc import Iterator
from types import CodeType
from typing import Any

ASKED = signal.SIGUSR1
THREADS = signal.SIGUSR2

log = logging.getLogger("faults.stacks")


def tell_when_asked() -> None:
    """From within the loop."""
    asyncio.get_running_loop().add_signal_handler(ASKED, _tell)
    faulthandler.register(THREADS)


def _tell() -> None:
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
