"""Waiting for what nobody tells of: it is looked at again and again."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable

# Long enough for others to get the processor, and short beside what is waited for.
PAUSE = 0.005


async def until(condition: Callable[[], object], most: float = 20) -> None:
    """Until it holds, or what it gives to be awaited; TimeoutError after `most` seconds."""
    async with asyncio.timeout(most):
        while True:
            found = condition()
            if await found if isawaitable(found) else found:
                return
            await asyncio.sleep(PAUSE)
