"""The claimer against a store whose answers are controlled by the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Claimed, SweepResult
from duetime.model.clock import SECOND, SystemClock, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from polling import until

T = TypeVar("T")

ids = TimeOrderedIds()


class LateStore(MemoryStore):
    """Answers claims only while `answering` is set."""

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


class ObservedClaimer:
    """A claimer on that store, with what it started and which look-aheads it requested."""

    def __init__(self, store: LateStore) -> None:
        self._store = store
        self._clock = StoreClock(SystemClock(), time.monotonic)
        self.started: list[UUID] = []
        self.looks = 0
        settings: Any = SimpleNamespace(lease=15.0, preclaim=0.5, batch=500)
        self.claimer = Claimer(
            "w",
            store,
            self._clock,
            [Pool(100, lambda queue: True)],
            RunsInFlight(),
            KnownPauses(),
            settings,
            start=self._start,
            release_early=lambda pool, count: None,
            release_waiting=lambda pool, most: None,
            can_run=lambda kind, version: True,
            request_look=self._look,
            busy=lambda: False,
            caught_up=lambda claims: None,
        )

    def _start(self, pool: Pool, taken: Sequence[InFlightRun]) -> None:
        self.started += [run.claim.id for run in taken]

    def _look(self, found_any: bool) -> None:
        self.looks += 1

    async def look(self) -> None:
        await self._look_through(self._store.look_ahead(), full=True)

    async def look_on(self) -> None:
        drained = self.claimer.drained_lanes()
        await self._look_through(self._store.look_ahead_from(drained), full=False)

    async def _look_through(self, flow: Flow[SweepResult], *, full: bool) -> None:
        self.claimer.look_started()
        sent = time.monotonic()
        looked = await self._store.perform(flow)
        self._clock.observe(looked.now, sent)
        self.claimer.look_finished(looked.lanes, looked.now, full=full)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.claimer.service.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_what_a_look_finds_while_a_claim_is_in_transit_is_not_skipped() -> None:
    """A row with an earlier due time became visible after the claim was sent."""
    store = LateStore()
    watched = ObservedClaimer(store)
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


async def test_a_look_after_a_claim_starts_at_the_cursors() -> None:
    store = LateStore()
    watched = ObservedClaimer(store)
    await store.put(3)
    last = await store.put(2)
    await watched.look()
    assert watched.claimer.drained_lanes() == {}
    async with watched.at_work():
        await until(lambda: watched.looks)
    assert watched.claimer.drained_lanes() == {last.lane: last.due_at}
    watched.claimer.look_started()
    assert watched.claimer.drained_lanes() == {}
