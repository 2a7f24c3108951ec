"""Telling others of wakes: each is sent in the end, by whichever loop is there."""

import asyncio
from collections.abc import Sequence

from awaiting import until
from duetime.store.flow import Wake
from duetime.store.sql.postgres.notify import Bell

WAKE = Wake("lane", 0, 0)


def test_a_loop_that_ended_before_its_time_keeps_no_other_from_sending() -> None:
    sent: list[Wake] = []

    async def send(wakes: Sequence[Wake]) -> None:
        sent.extend(wakes)

    bell = Bell(send)

    async def ring() -> None:
        """Until it has to wait."""
        while bell.ring([WAKE]):
            pass

    async def ring_and_wait() -> None:
        await ring()
        await until(lambda: sent)

    asyncio.run(ring())
    assert not sent
    asyncio.run(ring_and_wait())
    assert sent == [WAKE]
