"""How the demo's parts run beside each other, and stop."""

from __future__ import annotations

import asyncio
import signal
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from typing import Any


async def first_of(tasks: Collection[asyncio.Task[Any]], seconds: float | None) -> None:
    """Wait until a task has ended or the time is up; the error of a failed task is raised."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=FIRST_COMPLETED)
    for task in done:
        task.result()


@asynccontextmanager
async def running(work: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Run a coroutine for the duration of the `async with` block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def on_signal(stop: Callable[[], None]) -> AsyncIterator[None]:
    """Call `stop` on the first SIGINT or SIGTERM; a second signal has its default effect."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def signalled() -> None:
        stop()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, signalled)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
