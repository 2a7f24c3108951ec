"""Calls that are made at the same time, answered by one transaction.

While one is on its way the others gather, and are sent together when it is back: a lone call
waits for nobody, and many cost hardly more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from duetime.store.flow import Flow, Together
from duetime.store.sql.postgres_faults import is_lost

T = TypeVar("T")

MOST = 500

Waiting = tuple[Together[Any], asyncio.Future[Any]]


class Gathering:
    """Those of one event loop."""

    def __init__(self, perform: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._perform = perform
        self._waiting: list[Waiting] = []
        self._sending: asyncio.Task[None] | None = None

    async def perform(self, asked: Together[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append((asked, answer))
        if self._sending is None or self._sending.done():
            self._sending = loop.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._waiting:
            sent, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            # Whoever was cancelled before its turn has asked for nothing.
            await self._send([one for one in sent if not one[1].done()])

    async def _send(self, sent: Sequence[Waiting]) -> None:
        if not sent:
            return
        asked = [one for one, _ in sent]
        try:
            found = await self._perform(asked[0].many([one.item for one in asked]))
        except Exception as error:  # noqa: BLE001 - it is for those who asked
            await self._refused(sent, error)
            return
        for (_, answer), value in zip(sent, found, strict=True):
            if not answer.done():
                answer.set_result(value)

    async def _refused(self, sent: Sequence[Waiting], error: Exception) -> None:
        """What the server refuses is refused to the one who asked for it, and to nobody else. If
        it does not answer, that is so for all."""
        if len(sent) > 1 and _was_answered(error):
            for one in sent:
                await self._send([one])
            return
        for _, answer in sent:
            if not answer.done():
                answer.set_exception(error)


def _was_answered(error: Exception) -> bool:
    return isinstance(error.__cause__, Exception) and not is_lost(error.__cause__)
