"""What a worker claims, told by what its store answers, and when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from awaiting import until
from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Claimed, Swept
from duetime.model.clock import SECOND, SystemClock, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.leases.store_clock import StoreTime

T = TypeVar("T")

ids = TimeOrderedIds()


class Late(MemoryStore):
    """Its answers to claims come when `answering` is set."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock())
        self.answering = asyncio.Event()
        self.answering.set()
        self.claimed = 0

    async def perform(self, flow: Flow[T]) -> T:
        found = await super().perform(flow)
        if isinstance(found, Claimed):
            self.claimed += 1
            await self.answering.wait()
        return found

    async def put(self, seconds_ago: float) -> NewAction:
        now = to_micros(SystemClock().now())
        due_at = now - int(seconds_ago * SECOND)
        place = ("q", 1, None, None, None, lane_of("q", 1, None), due_at, None, "me")
        new = NewAction(ids(), "mail", 1, "{}", *place)
        await self.perform(self.add([new], "return"))
        return new


class Watched:
    """A claimer of that store, and what it started and asked for."""

    def __init__(self, store: Late) -> None:
        self._store = store
        self._time = StoreTime(SystemClock(), time.monotonic)
        self.started: list[UUID] = []
        self.looks = 0
        settings: Any = SimpleNamespace(lease=15.0, preclaim=0.5, batch=500)
        self.claimer = Claimer(
            "w",
            store,
            self._time,
            [Pool(100, lambda queue: True)],
            Holdings(),
            settings,
            start=self._start,
            spare=lambda pool, count: None,
            give_back=lambda pool, most: None,
            runs=lambda kind, version: True,
            look=self._look,
            busy=lambda: False,
            caught_up=lambda claims: None,
        )

    def _start(self, pool: Pool, taken: Sequence[Held]) -> None:
        self.started += [held.claim.id for held in taken]

    def _look(self, fruitful: bool) -> None:
        self.looks += 1

    async def look(self) -> None:
        await self._told(self._store.look())

    async def look_on(self) -> None:
        await self._told(self._store.look_from(self.claimer.worked_off()))

    async def _told(self, flow: Flow[Swept]) -> None:
        self.claimer.looking()
        sent = time.monotonic()
        looked = await self._store.perform(flow)
        self._time.heard(looked.now, sent)
        self.claimer.looked(looked.lanes, looked.now)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.claimer.service.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_what_a_look_finds_while_a_claim_is_on_its_way_is_not_stepped_over() -> None:
    """It became visible after the claim was made, with an earlier time."""
    store = Late()
    watched = Watched(store)
    first = await store.put(2)
    await watched.look()
    store.answering.clear()
    async with watched.at_work():
        await until(lambda: store.claimed)
        before = await store.put(3)
        await watched.look()
        store.answering.set()
        await until(lambda: watched.looks)
        await watched.look_on()
        await until(lambda: len(watched.started) == 2)
    assert watched.started == [first.id, before.id]


async def test_a_look_after_a_claim_begins_where_claims_have_come_to() -> None:
    store = Late()
    watched = Watched(store)
    await store.put(3)
    last = await store.put(2)
    await watched.look()
    assert watched.claimer.worked_off() == {}
    async with watched.at_work():
        await until(lambda: watched.looks)
    assert watched.claimer.worked_off() == {last.lane: last.due_at}
    watched.claimer.looking()
    assert watched.claimer.worked_off() == {}
