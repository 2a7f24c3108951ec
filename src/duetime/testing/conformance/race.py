"""A race: one store performs many flows in many threads at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from duetime.errors import DuetimeError
from duetime.store.base import Store
from duetime.store.flow import Flow

T = TypeVar("T")


async def race(store: Store, flows: Sequence[Flow[T]]) -> list[T | DuetimeError]:
    """Perform each flow in its own thread, all started together; returns results or errors."""
    barrier = threading.Barrier(len(flows))

    def run(flow: Flow[T]) -> T | DuetimeError:
        barrier.wait(10)
        try:
            return store.perform_blocking(flow)
        except DuetimeError as error:
            return error

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(len(flows)) as threads:
        return await asyncio.gather(*(loop.run_in_executor(threads, run, f) for f in flows))
