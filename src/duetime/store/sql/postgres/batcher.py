"""Calls that are made at the same time, answered by one transaction.

While one is on its way the others gather, and are sent together when it is back: a lone call
waits for nobody, and many cost hardly more than one.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from duetime.errors import StoreUnavailable
from duetime.store.flow import Flow, Together

T = TypeVar("T")

# So many calls share a transaction, if they are no larger together than this.
MOST = 500
MOST_WEIGHT = 4_000_000
# What is wrong with a row, said by PostgreSQL or by a trigger of the user's: nobody else's fault.
OF_THE_DATA = ("22", "23", "44", "P0")


class Waiting(NamedTuple):
    """A call, and who is to be answered, on the loop's clock before `deadline`."""

    asked: Together[Any]
    answer: asyncio.Future[Any]
    deadline: float


class Gathering:
    """Those of one event loop. Nobody's turn may come later than `timeout` seconds."""

    def __init__(self, perform: Callable[[Flow[Any]], Awaitable[Any]], timeout: float) -> None:
        self._perform = perform
        self._timeout = timeout
        self._waiting: deque[Waiting] = deque()
        self._sending: asyncio.Task[None] | None = None

    async def perform(self, asked: Together[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append(Waiting(asked, answer, loop.time() + self._timeout))
        if self._sending is None:
            self._start(loop)
        return await answer

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        # It is for all who ask, so it has the context of none.
        self._sending = loop.create_task(self._send_all(), context=contextvars.Context())
        self._sending.add_done_callback(self._ended)

    def _ended(self, sending: asyncio.Task[None]) -> None:
        """Kept no longer, or the loop that it knows would be kept with it. If somebody cancelled
        it, as the end of a loop does, whoever asks nevertheless is answered by another."""
        self._sending = None
        if self._waiting:
            self._start(sending.get_loop())

    async def _send_all(self) -> None:
        while self._waiting:
            sent = self._next()
            try:
                await self._send(sent)
            finally:
                _tell(sent, StoreUnavailable("the call was interrupted; it may have happened"))

    def _next(self) -> list[Waiting]:
        """Whose turn it is."""
        now = asyncio.get_running_loop().time()
        chosen: list[Waiting] = []
        weight = 0
        while self._waiting and len(chosen) < MOST:
            weight += self._waiting[0].asked.weight
            if chosen and weight > MOST_WEIGHT:
                break
            one = self._waiting.popleft()
            if now < one.deadline:
                chosen.append(one)
            else:
                late = f"no answer to earlier calls within {self._timeout:g} s; nothing was asked"
                _tell([one], StoreUnavailable(late))
        return chosen

    async def _send(self, given: Sequence[Waiting]) -> None:
        # Whoever was cancelled before its turn has asked for nothing.
        sent = [one for one in given if not one.answer.done()]
        if not sent:
            return
        try:
            many = sent[0].asked.many
            found = await self._perform(many([one.asked.item for one in sent]))
        except Exception as error:  # noqa: BLE001 - it is for those who asked
            await self._refused(sent, error)
            return
        for one, value in zip(sent, found, strict=True):
            if not one.answer.done():
                one.answer.set_result(value)

    async def _refused(self, sent: Sequence[Waiting], error: Exception) -> None:
        """What is wrong with the data of one is told to that one: halve until it is found. All
        else that the server says, or that it says nothing, is so for all."""
        half = len(sent) // 2
        if half and _is_of_the_data(error):
            await self._send(sent[:half])
            await self._send(sent[half:])
        else:
            _tell(sent, error)


def _tell(those: Sequence[Waiting], error: Exception) -> None:
    for one in those:
        if not one.answer.done():
            one.answer.set_exception(error)


def _is_of_the_data(error: Exception) -> bool:
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return state.startswith(OF_THE_DATA)
