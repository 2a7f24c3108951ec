"""Look-aheads after claims that found nothing more: full ones, or past the cursors."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from duetime.model.actions.claim import SweepResult, WorkerInfo
from duetime.model.clock import SystemClock
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.leases.in_flight import RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.sweeper import Sweeper

T = TypeVar("T")

WORKER_INFO = WorkerInfo("w", "shop", "host", 1, [], [], 1)


class SlowStore(MemoryStore):
    """Takes `seconds` for each answer."""

    def __init__(self, seconds: float) -> None:
        super().__init__(clock=SystemClock())
        self._seconds = seconds
        self.passed = 100.0
        self.looks: list[str] = []

    def look_ahead(self, app: str | None = None) -> Flow[SweepResult]:
        self.looks.append("full")
        return super().look_ahead(app)

    def look_ahead_from(self, since: Mapping[str, int]) -> Flow[SweepResult]:
        self.looks.append("partial")
        return super().look_ahead_from(since)

    async def perform(self, flow: Flow[T]) -> T:
        self.passed += self._seconds
        return await super().perform(flow)


def sweeper_of(store: SlowStore) -> Sweeper:
    claimer: Any = SimpleNamespace(
        drained_lanes=lambda: {"1.0.q": 0},
        look_started=lambda: None,
        look_finished=lambda heads, now, full: None,
    )
    settings: Any = SimpleNamespace(
        app="shop", lease=15.0, sweep=60.0, poll=60.0, poll_unheard=60.0, preclaim=0.5, batch=500
    )

    async def lost(expired: object, ending: object, now: int) -> None: ...

    return Sweeper(
        store,
        SimpleNamespace(),  # type: ignore[arg-type]
        StoreClock(SystemClock(), lambda: store.passed),
        lambda: WORKER_INFO,
        RunsInFlight(),
        KnownPauses(),
        lambda: claimer,
        settings,
        lost,
        lambda done: None,
        lambda swept, sweeping: None,
        lambda: None,
    )


async def look_after(sweeper: Sweeper, store: SlowStore, *waits: float) -> list[str]:
    """Return the kinds of look-ahead after each of these waits since the sweep."""
    await sweeper.sweep()
    await sweeper.sweep()  # it is known from here on, and the next is far away
    for seconds in waits:
        store.passed += seconds
        sweeper.request_look(True)
        await sweeper._step()
    return store.looks


async def test_claims_cause_full_looks_for_a_twentieth_of_the_time() -> None:
    store = SlowStore(0.1)
    found = await look_after(sweeper_of(store), store, 0.5, 0.5, 1.0, 0.5)
    assert found == ["partial", "partial", "full", "partial"]


async def test_looks_that_take_no_time_are_full() -> None:
    store = SlowStore(0.0)
    assert await look_after(sweeper_of(store), store, 0.0, 0.0) == ["full", "full"]


@pytest.mark.parametrize("seconds", [0.0, 0.1])
async def test_an_unspecified_change_causes_a_full_look(seconds: float) -> None:
    store = SlowStore(seconds)
    sweeper = sweeper_of(store)
    await look_after(sweeper, store)
    sweeper.anything_changed()
    store.passed += 0.5
    sweeper.request_look(True)
    await sweeper._step()
    assert store.looks == ["full"]


async def test_a_full_look_that_is_owed_comes_without_a_claim() -> None:
    store = SlowStore(0.1)
    sweeper = sweeper_of(store)
    await look_after(sweeper, store, 0.5)
    pause = await sweeper._step()
    assert 1.0 < pause < 2.0
    store.passed += pause
    assert await sweeper._step() > 2.0  # until the next sweep
    assert store.looks == ["partial", "full"]
