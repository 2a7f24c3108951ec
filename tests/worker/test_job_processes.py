"""Many processes start at once and tick together: each tick is one action."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from duetime import Duetime, Occurrence, Outcome
from duetime.errors import JobNotFound
from polling import until

JOBS = 500
WORKERS = 4
TICKS = 3
INTERVAL_SECONDS = timedelta(seconds=2)

PROGRAM = f"""
import asyncio, sys
from duetime import Duetime, Every, Misfire

app = Duetime(sys.argv[1], name="shop", sweep=1, lease=5)
for number in range({JOBS}):
    @app.job(Every(seconds=2), name=f"shop-job-{{number}}", misfire=Misfire.all(), overlap="allow")
    async def job() -> None: ...
asyncio.run(app.run(concurrency=50))
"""


@contextmanager
def crew(url: str, folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, url]
    hands = [
        subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
        for _ in range(WORKERS)
    ]
    try:
        yield hands
    finally:
        for hand in hands:
            hand.send_signal(signal.SIGTERM)
        for hand in hands:
            hand.wait(60)


async def test_each_tick_of_each_job_is_one_action(durable_url: str, tmp_path: Path) -> None:
    async with Duetime(durable_url, name="shop") as app:
        with crew(durable_url, tmp_path):
            await ticked(app)
        for number in range(0, JOBS, 25):
            assert_each_once(await app.jobs.runs(f"shop-job-{number}", limit=200))


@pytest.mark.soak
async def test_also_if_they_are_killed_again_and_again(durable_url: str, tmp_path: Path) -> None:
    async with Duetime(durable_url, name="shop") as app:
        for _ in range(2):
            with crew(durable_url, tmp_path) as hands:
                await ticked(app)
                for hand in hands[1:]:
                    hand.kill()
                await ticked(app)
        for number in range(0, JOBS, 25):
            assert_each_once(await app.jobs.runs(f"shop-job-{number}", limit=200))


EDITOR = """
import sys
from duetime import Duetime, Every

app = Duetime(sys.argv[1], name="shop")
app.sync.jobs.resume("shop-paused")
"""


async def test_an_edit_by_another_process_is_noticed_at_once(durable_url: str) -> None:
    ran = asyncio.Event()
    async with Duetime(durable_url, name="shop", sweep=300, poll=300) as app:
        app.job("* * * * * *", name="shop-paused")(ran.set)
        async with app.worker():
            await app.jobs.pause("shop-paused")
            ran.clear()
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            command = [sys.executable, "-c", EDITOR, durable_url]
            editor = await asyncio.create_subprocess_exec(*command, env=environment)
            assert await asyncio.wait_for(editor.wait(), 20) == 0
            await asyncio.wait_for(ran.wait(), 20)


async def ticked(app: Duetime) -> None:
    """Wait until every job has run a few more times."""
    last = f"shop-job-{JOBS - 1}"
    before = await ran(app, last)

    async def enough() -> bool:
        return await ran(app, last) >= before + TICKS

    await until(enough, 120)


async def ran(app: Duetime, job: str) -> int:
    try:
        runs = await app.jobs.runs(job, limit=200)
    except JobNotFound:
        return 0
    return sum(run.outcome is Outcome.succeeded for run in runs)


def assert_each_once(occurrences: list[Occurrence]) -> None:
    """Assert that no tick occurs twice and that there is no gap between the first and the last."""
    ticks = sorted(occurrence.tick for occurrence in occurrences if occurrence.tick is not None)
    assert [tick for tick, count in Counter(ticks).items() if count > 1] == []
    gaps = {later - earlier for earlier, later in itertools.pairwise(ticks)}
    assert gaps == {INTERVAL_SECONDS}
