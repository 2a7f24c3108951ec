"""Batching of concurrent calls into one transaction.

While one batch is under way, new calls queue up and form the next batch. A lone call is sent at
once, and many concurrent calls cost hardly more than one.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from duetime.errors import StoreUnavailable
from duetime.store.flow import Batchable, Flow

T = TypeVar("T")

# Limits of a batch: calls, and their total weight (about the bytes to send).
MAX_BATCH_CALLS = 500
MAX_BATCH_WEIGHT = 4_000_000
# SQLSTATE classes that blame a row, raised by PostgreSQL or by a user's trigger. The other calls of
# the batch are not affected.
DATA_ERROR_CLASSES = ("22", "23", "44", "P0")


class PendingCall(NamedTuple):
    """A queued call, the future of its answer, and until when (loop time) it may be sent."""

    call: Batchable[Any]
    answer: asyncio.Future[Any]
    deadline: float


class Batcher:
    """Batches the calls of one event loop. Each call waits at most `timeout` seconds to be sent."""

    def __init__(self, perform: Callable[[Flow[Any]], Awaitable[Any]], timeout: float) -> None:
        self._perform = perform
        self._timeout = timeout
        self._waiting: deque[PendingCall] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def perform(self, call: Batchable[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append(PendingCall(call, answer, loop.time() + self._timeout))
        if self._sender is None:
            self._start(loop)
        return await answer

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        # The task serves all callers, so it must not inherit the context of one of them.
        self._sender = loop.create_task(self._send_all(), context=contextvars.Context())
        self._sender.add_done_callback(self._on_sender_done)

    def _on_sender_done(self, sender: asyncio.Task[None]) -> None:
        """Drop the task, since a reference to it keeps its event loop alive.

        If the task was cancelled, as a closing loop does, a new task serves the queued calls.
        """
        self._sender = None
        if self._waiting:
            self._start(sender.get_loop())

    async def _send_all(self) -> None:
        while self._waiting:
            sent = self._next_batch()
            try:
                await self._send(sent)
            finally:
                _fail(sent, StoreUnavailable("the call was interrupted; it may have taken effect"))

    def _next_batch(self) -> list[PendingCall]:
        """Remove the next batch from the queue; calls that waited too long fail."""
        now = asyncio.get_running_loop().time()
        chosen: list[PendingCall] = []
        weight = 0
        while self._waiting and len(chosen) < MAX_BATCH_CALLS:
            weight += self._waiting[0].call.weight
            if chosen and weight > MAX_BATCH_WEIGHT:
                break
            pending = self._waiting.popleft()
            if now < pending.deadline:
                chosen.append(pending)
            else:
                late = f"no answer to earlier calls within {self._timeout:g} s; nothing was sent"
                _fail([pending], StoreUnavailable(late))
        return chosen

    async def _send(self, batch: Sequence[PendingCall]) -> None:
        # Calls that were cancelled while they were queued are not sent.
        sent = [pending for pending in batch if not pending.answer.done()]
        if not sent:
            return
        try:
            many = sent[0].call.batch_verb
            values = await self._perform(many([pending.call.item for pending in sent]))
        except Exception as error:  # noqa: BLE001 - raised in the callers instead
            await self._fail_or_split(sent, error)
            return
        for pending, value in zip(sent, values, strict=True):
            if not pending.answer.done():
                pending.answer.set_result(value)

    async def _fail_or_split(self, sent: Sequence[PendingCall], error: Exception) -> None:
        """Raise `error` in the callers. If a row is to blame, halve the batch until it is found;
        any other error concerns all calls."""
        half = len(sent) // 2
        if half and _is_data_error(error):
            await self._send(sent[:half])
            await self._send(sent[half:])
        else:
            _fail(sent, error)


def _fail(calls: Sequence[PendingCall], error: Exception) -> None:
    for pending in calls:
        if not pending.answer.done():
            pending.answer.set_exception(error)


def _is_data_error(error: Exception) -> bool:
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return state.startswith(DATA_ERROR_CLASSES)
