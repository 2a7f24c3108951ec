"""Waits by polling for conditions that nothing signals."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable

# Long enough for other tasks to run, and short compared with what is waited for.
POLL_SECONDS = 0.005


async def until(condition: Callable[[], object], timeout: float = 20) -> None:
    """Poll until the condition, or the awaitable that it returns, is true.

    Raises TimeoutError after `timeout` seconds.
    """
    async with asyncio.timeout(timeout):
        while True:
            result = condition()
            if await result if isawaitable(result) else result:
                return
            await asyncio.sleep(POLL_SECONDS)
