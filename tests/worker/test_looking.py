"""At what a worker looks when its claims find nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from duetime.model.actions.claim import Presence, Swept
from duetime.model.clock import SystemClock
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.leases.in_flight import Holdings
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.sweeper import Sweeper

T = TypeVar("T")

PRESENCE = Presence("w", "shop", "host", 1, [], [], 1)


class Slow(MemoryStore):
    """So many seconds pass until it answers."""

    def __init__(self, seconds: float) -> None:
        super().__init__(clock=SystemClock())
        self._seconds = seconds
        self.passed = 100.0
        self.asked: list[str] = []

    def look(self, app: str | None = None) -> Flow[Swept]:
        self.asked.append("whole")
        return super().look(app)

    def look_from(self, since: Mapping[str, int]) -> Flow[Swept]:
        self.asked.append("on")
        return super().look_from(since)

    async def perform(self, flow: Flow[T]) -> T:
        self.passed += self._seconds
        return await super().perform(flow)


def sweeper_of(store: Slow) -> Sweeper:
    claimer: Any = SimpleNamespace(
        worked_off=lambda: {"1.0.q": 0}, looking=lambda: None, looked=lambda heads, now: None
    )
    settings: Any = SimpleNamespace(
        app="shop", lease=15.0, sweep=60.0, poll=60.0, poll_unheard=60.0, preclaim=0.5, batch=500
    )

    async def lost(ending: object) -> None: ...

    return Sweeper(
        store,
        SimpleNamespace(),  # type: ignore[arg-type]
        StoreTime(SystemClock(), lambda: store.passed),
        lambda: PRESENCE,
        Holdings(),
        lambda: claimer,
        settings,
        lost,
        lambda done: None,
        lambda swept, sweeping: None,
    )


async def looked(sweeper: Sweeper, store: Slow, *waits: float) -> list[str]:
    """At what, after each of these waits since the sweep."""
    await sweeper.sweep()
    await sweeper.sweep()  # it is known from here on, and the next is far away
    for seconds in waits:
        store.passed += seconds
        sweeper.look(True)
        await sweeper._step()
    return store.asked


async def test_claims_cause_looks_at_whole_lanes_for_a_twentieth_of_the_time() -> None:
    store = Slow(0.1)
    found = await looked(sweeper_of(store), store, 0.5, 0.5, 1.0, 0.5)
    assert found == ["on", "on", "whole", "on"]


async def test_looks_that_take_no_time_are_at_whole_lanes() -> None:
    store = Slow(0.0)
    assert await looked(sweeper_of(store), store, 0.0, 0.0) == ["whole", "whole"]


@pytest.mark.parametrize("seconds", [0.0, 0.1])
async def test_what_nobody_named_is_looked_for_everywhere(seconds: float) -> None:
    store = Slow(seconds)
    sweeper = sweeper_of(store)
    await looked(sweeper, store)
    sweeper.ask()
    store.passed += 0.5
    sweeper.look(True)
    await sweeper._step()
    assert store.asked == ["whole"]


async def test_a_look_at_whole_lanes_that_is_owed_comes_though_no_claim_asks() -> None:
    store = Slow(0.1)
    sweeper = sweeper_of(store)
    await looked(sweeper, store, 0.5)
    pause = await sweeper._step()
    assert 1.0 < pause < 2.0
    store.passed += pause
    assert await sweeper._step() > 2.0  # until the next sweep
    assert store.asked == ["on", "whole"]
