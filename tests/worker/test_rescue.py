"""Live workers are not rescued, however slow the store is."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from damaged_rows import execute
from duetime import Duetime, State
from duetime.model.actions.claim import ClaimOrder, Expired, LaneSpan, WorkerInfo
from duetime.model.actions.completion import Completion
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.leases.in_flight import RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.sweeper import Sweeper

LEASE = 2.0


async def test_a_lock_that_blocks_renewals_and_sweeps_alike_costs_no_lease(
    tmp_path: Path,
) -> None:
    """Whichever worker gets the lock first lets the others renew before it rescues."""
    url = f"sqlite:///{tmp_path / 'duetime.db'}"
    apps = [Duetime(url, lease=LEASE, sweep=0.1, poll=0.1, timeout=30) for _ in range(3)]
    started, release = threading.Semaphore(0), threading.Event()

    def handle(note: Note) -> None:
        started.release()
        assert release.wait(60)

    for app in apps:
        app.handler(kind="note")(handle)
    async with apps[0], apps[1], apps[2], apps[0].worker():
        actions = [await apps[0].schedule(Note()) for _ in range(4)]
        for _ in actions:
            assert await asyncio.to_thread(started.acquire, timeout=30)
        async with apps[1].worker(), apps[2].worker():
            await locked_past_their_leases(apps[0], actions[0].id, tmp_path / "duetime.db")
            await renewed(apps[0], actions[0].id)
            release.set()
            finished = [await apps[0].wait(action.id, timeout=30) for action in actions]
    assert [(action.state, action.losses) for action in finished] == [(State.succeeded, 0)] * 4


async def locked_past_their_leases(app: Duetime, action: UUID, path: Path) -> None:
    until = (await app.get(action)).lease_expires_at
    assert until is not None
    await asyncio.to_thread(hold_lock, path, until + timedelta(seconds=LEASE))


def hold_lock(path: Path, until: datetime) -> None:
    lock = sqlite3.connect(path, timeout=30, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    while datetime.now(UTC) < until:
        threading.Event().wait(0.01)
    lock.execute("ROLLBACK")
    lock.close()


async def renewed(app: Duetime, action: UUID) -> None:
    while True:
        found = await app.get(action)
        if found.lease_expires_at is None or found.lease_expires_at > datetime.now(UTC):
            return
        await asyncio.sleep(0)


async def test_a_lease_shorter_than_a_sweep_delays_no_rescue_for_ever(durable_url: str) -> None:
    """An idle worker hears nothing from the store for longer than a lease, which is no sign that
    it was suspended."""
    async with Duetime(durable_url, lease=0.3, sweep=1, poll=1) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> str:
            return payload.text

        async with app.worker():
            action = await app.schedule(Note(), delay=60)
            execute(
                durable_url,
                "UPDATE duetime_actions SET due_at = 1, lease_until = 1, losses = 0, "
                "token = '11111111-2222-4333-8444-555555555555'",
            )
            finished = await app.wait(action.id, timeout=15)
    assert (finished.state, finished.losses) == (State.succeeded, 1)


@pytest.mark.parametrize("lease", [2.0, 30.0])
async def test_a_worker_that_was_suspended_waits_a_lease_before_it_rescues(lease: float) -> None:
    """Other workers may have been suspended with it, and have to renew first."""
    worker = IdleWorker(lease=lease, sweep=10.0)
    action = await worker.vanished_action()
    worker.time += lease + 11
    suspended_until = worker.time
    while not await worker.step_and_see_rescued(action):
        assert worker.time < suspended_until + lease + 10
    assert worker.time >= suspended_until + lease


async def test_an_idle_worker_was_not_suspended() -> None:
    worker = IdleWorker(lease=2.0, sweep=10.0)
    action = await worker.vanished_action()
    while not await worker.step_and_see_rescued(action):
        assert worker.time < 21


class IdleWorker:
    """The sweeper of a worker that has nothing to run, in a time of its own."""

    def __init__(self, lease: float, sweep: float) -> None:
        self.time, self._sleep = 0.0, 0.0
        self._clock = FakeClock()
        self._store = MemoryStore(clock=self._clock)
        self._app = Duetime(store=self._store, clock=self._clock, lease=lease, sweep=sweep)
        self._app.payload(Note, kind="note")
        claimer: Any = SimpleNamespace(
            look_started=lambda: None, look_finished=lambda heads, now, full: None
        )
        settings: Any = SimpleNamespace(
            app="shop",
            lease=lease,
            sweep=sweep,
            poll=sweep,
            poll_unheard=sweep,
            batch=9,
            preclaim=0,
        )
        self._sweeper = Sweeper(
            self._store,
            self._app.runtime.outbox_store,
            StoreClock(self._clock, lambda: self.time),
            lambda: WorkerInfo("w", "shop", "host", 1, [], [], 1),
            RunsInFlight(),
            KnownPauses(),
            lambda: claimer,
            settings,
            self._report_lost,
            lambda done: None,
            lambda swept, sweeping: None,
            lambda: None,
        )

    async def _report_lost(self, expired: Expired, completion: Completion, now: int) -> None: ...

    async def vanished_action(self) -> UUID:
        """Sweep twice, then return an action whose worker has vanished."""
        for _ in range(2):
            await self._sweeper.sweep()
        action = await self._app.schedule(Note())
        [head] = (await self._store.perform(self._store.look_ahead())).lanes
        order = ClaimOrder("gone", [LaneSpan(head.lane, 0, 0)], 1, 1)
        await self._store.perform(self._store.claim(order))
        self._clock.advance(seconds=1)
        return action.id

    async def step_and_see_rescued(self, action: UUID) -> bool:
        """Sleep as long as the last step asked for, and step."""
        self.time += self._sleep
        self._sleep = await self._sweeper._step()
        return (await self._app.get(action)).state is State.scheduled
