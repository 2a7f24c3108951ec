"""The NOTIFY throttle sends every wake in the end, from whichever loop is running."""

import asyncio
from collections.abc import Sequence

from duetime.store.flow import Wake
from duetime.store.sql.postgres.notify import NotifyThrottle
from polling import until

WAKE = Wake("lane", 0, 0)


def test_a_loop_closed_before_its_timer_does_not_stop_later_loops() -> None:
    sent: list[Wake] = []

    async def send(wakes: Sequence[Wake]) -> None:
        sent.extend(wakes)

    throttle = NotifyThrottle(send)

    async def take_until_throttled() -> None:
        """Take wakes until the throttle defers one."""
        while throttle.take_sendable([WAKE]):
            pass

    async def take_and_wait() -> None:
        await take_until_throttled()
        await until(lambda: sent)

    asyncio.run(take_until_throttled())
    assert not sent
    asyncio.run(take_and_wait())
    assert sent == [WAKE]
