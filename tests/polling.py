"""Waits by polling for conditions that nothing signals, and checks that a wait ends in time."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from time import monotonic

# Long enough for other tasks to run, and short compared with what is waited for.
MIN_POLL_SECONDS = 0.005
# The longer a wait, the rarer the polls: a query every few milliseconds keeps a core busy.
POLLS_PER_WAIT = 10
MAX_POLL_SECONDS = 0.05


async def until(condition: Callable[[], object], timeout: float = 20) -> None:
    """Poll until the condition, or the awaitable that it returns, is true.

    Raises TimeoutError after `timeout` seconds.
    """
    began = monotonic()
    async with asyncio.timeout(timeout):
        while True:
            result = condition()
            if await result if isawaitable(result) else result:
                return
            pause = (monotonic() - began) / POLLS_PER_WAIT
            await asyncio.sleep(min(max(pause, MIN_POLL_SECONDS), MAX_POLL_SECONDS))


@contextmanager
def in_time(seconds: float = 20) -> Iterator[None]:
    """Fail if the block takes longer: much longer than it should take, since the machine may be
    busy, but less than it would take if nothing ended the wait."""
    before = monotonic()
    yield
    assert monotonic() - before < seconds
