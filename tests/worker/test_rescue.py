"""Live workers are not rescued, however slow the store is."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from api.apps import Note
from duetime import Duetime, State

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
