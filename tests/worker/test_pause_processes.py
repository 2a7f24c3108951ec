"""A pause reaches the workers of other processes: within a second, or within one poll."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duetime import Action, Duetime, State
from polling import until

PROGRAM = """
import asyncio, sys
from dataclasses import dataclass
from duetime import Duetime

@dataclass
class Step:
    number: int

app = Duetime(sys.argv[1], listen=sys.argv[2] == "listening", poll_unheard=1, lease=6)

@app.handler(kind="step")
async def step(payload: Step) -> None: ...

asyncio.run(app.run(concurrency=4))
"""

# Actions of either queue, due one after the other over these seconds.
ACTIONS = 300
SECONDS = 6.0
# The pause comes when so many have run.
RUN_BEFORE = 60


@dataclass(frozen=True)
class Step:
    """A payload of which many are due one shortly after the other."""

    number: int


@contextmanager
def two_workers(url: str, mode: str, folder: Path) -> Iterator[None]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, url, mode]
    workers = [subprocess.Popen(command, cwd=folder, env=environment) for _ in range(2)]
    try:
        yield
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait(60)


CASES = [("sqlite", "listening", 1.0), ("postgres", "listening", 1.0), ("postgres", "deaf", 2.0)]


@pytest.fixture
async def app(store: str, request: pytest.FixtureRequest) -> AsyncIterator[Duetime]:
    if store == "sqlite":
        url = f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    else:
        url = request.getfixturevalue("postgres_url")
    async with Duetime(url) as app:
        app.payload(Step, kind="step")
        yield app


@pytest.mark.parametrize(("store", "mode", "within"), CASES)
async def test_nothing_starts_after_a_pause(
    app: Duetime, mode: str, within: float, tmp_path: Path
) -> None:
    """Without LISTEN, the limit is one poll of a second and the time of a look."""
    url = app._setup.own.store_url
    assert url is not None
    with two_workers(url, mode, tmp_path):
        await until(lambda: _alive(app, 2))
        await _schedule(app)
        await until(lambda: _has_run(app, RUN_BEFORE))
        paused = await app.queues.pause("billing")
        assert len(paused.served_by) == 2
        assert paused.ignored_by == ()
        await until(lambda: _all_ran(app, "other"), timeout=60)
        late = await _starts_after(app, paused.paused_at + timedelta(seconds=within))
        assert late == []
        assert await _left(app) > 0
        [queue] = [queue for queue in await app.queues.list() if queue.name == "billing"]
        assert (queue.running, queue.overdue) == (0, 0)
        await app.queues.resume("billing")
        await until(lambda: _all_ran(app, "billing"), timeout=60)
    # What was given back had not started, and costs no attempt.
    assert {action.attempt for action in await _actions(app)} == {1}


async def _alive(app: Duetime, count: int) -> bool:
    return len(await app.workers.list()) == count


async def _schedule(app: Duetime) -> None:
    begin, step = datetime.now(UTC) + timedelta(seconds=0.5), SECONDS / ACTIONS
    await app.schedule_many(
        app.request(Step(n), at=begin + timedelta(seconds=n * step), queue=queue)
        for n in range(ACTIONS)
        for queue in ("billing", "other")
    )


async def _has_run(app: Duetime, count: int) -> bool:
    return (await app.stats()).succeeded >= count


async def _all_ran(app: Duetime, queue: str) -> bool:
    [*unfinished] = await app.find(queue=queue, state=State.scheduled, limit=1)
    return not unfinished and not await app.find(queue=queue, state=State.running, limit=1)


async def _actions(app: Duetime) -> list[Action]:
    found: list[Action] = []
    cursor = None
    while True:
        page = await app.find(queue="billing", limit=200, cursor=cursor)
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _left(app: Duetime) -> int:
    return sum(action.state is State.scheduled for action in await _actions(app))


async def _starts_after(app: Duetime, instant: datetime) -> list[datetime]:
    finished = [action for action in await _actions(app) if action.state is State.succeeded]
    starts = [run.started_at for action in finished for run in await app.runs(action.id)]
    return sorted(start for start in starts if start is not None and start > instant)
