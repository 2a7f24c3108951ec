"""Trials of what duetime costs those who wait: statements, memory, the time to import it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from trial import Goal, Missing, Spot, Trial

from duetime.bench.draining import bulk
from duetime.bench.figures import Taken
from duetime.bench.processes import crew
from duetime.bench.wait import until_at_work, until_finished
from duetime.bench.work import Noop, make
from faults.proxy import Proxy

# Until a worker that has just started is as idle as it gets.
SETTLED = 12.0
# What an import is to do without.
HEAVY = ["psycopg", "sqlalchemy", "asyncpg", "fastapi", "starlette", "django", "flask", "typer"]
# `import duetime` brings a name when it is asked for: so what the app itself brings counts, too.
IMPORT = f"""
import json, sys, time
began = time.process_time()
import duetime
imported = time.process_time()
duetime.Duetime
done = time.process_time()
found = [one for one in {HEAVY} if one in sys.modules]
print(json.dumps([imported - began, done - began, found]))
"""


async def idle(spot: Spot) -> Taken:
    """What a worker with nothing to do asks of PostgreSQL."""
    async with make(**spot.server_place) as app:
        with closing(Proxy(spot.url)) as between, crew({"url": between.url}) as workers:
            await until_at_work(app, workers)
            return await statements(between, spot)


async def statements(between: Proxy, spot: Spot) -> Taken:
    """Of whoever is at work beyond it, once it has settled. The server's own count has those of
    autovacuum in it."""
    await asyncio.sleep(spot.seconds(SETTLED))
    before, seconds = executed(between), spot.seconds(60)
    await asyncio.sleep(seconds)
    return {"statements /min": (executed(between) - before) * 60 / seconds}


def executed(between: Proxy) -> int:
    """How many statements were sent, with parameters and without."""
    return between.seen["E"] + between.seen["Q"]


async def memory(spot: Spot) -> Taken:
    """How far a worker grows while 100,000 come due at one instant."""
    app = make(**spot.server_place)
    async with app:
        with crew(spot.server_place) as workers:
            await until_at_work(app, workers)
            [pid] = workers.pids
            before = megabytes(pid, "VmRSS")
            # Later than it takes to schedule them all.
            due = app.clock.now() + timedelta(seconds=spot.seconds(25))
            await bulk(app, (Noop(n) for n in range(spot.count(100_000))), at=due)
            await until_finished(app, workers)
            return {"growth MB": megabytes(pid, "VmHWM") - before}


def megabytes(pid: int, name: str) -> float:
    """Of a process: VmRSS is what it has now, VmHWM the most it ever had."""
    path = Path(f"/proc/{pid}/status")
    if not path.exists():
        raise Missing("only Linux tells how much memory another process has")
    found = dict(line.split(":", 1) for line in path.read_text().splitlines())
    return int(found[name].split()[0]) / 1024


async def importing(spot: Spot) -> Taken:
    """The CPU time of `import duetime`, and of `from duetime import Duetime`, in a process that
    has imported nothing else. The first of two compiles; the second finds that done, as all do
    but the very first, whatever PYTHONDONTWRITEBYTECODE says here."""
    with TemporaryDirectory(prefix="duetime-bench-") as compiled:
        kept = {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(2):
            done = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", IMPORT],
                env={**os.environ, **kept},
                capture_output=True,
                text=True,
                check=True,
            )
    took, with_app, heavy = json.loads(done.stdout)
    return {
        "import ms": 1000 * took,
        "import with Duetime ms": 1000 * with_app,
        "drivers and frameworks modules": len(heavy),
    }


IDLE = Trial(
    "idle",
    "statements of an idle worker, LISTEN on",
    {"duetime": idle},
    [Goal("at most 8 a minute", ("duetime", "statements /min"), 8.0, most=True)],
    rounds=1,
)
MEMORY = Trial(
    "memory",
    "a burst of 100,000: how far the worker grows",
    {"duetime": memory},
    [Goal("under 100 MB", ("duetime", "growth MB"), 100.0, most=True)],
)
IMPORTING = Trial(
    "import",
    "import duetime: CPU time, and what comes with it",
    {"duetime": importing},
    [
        Goal("under 120 ms of CPU", ("duetime", "import ms"), 120.0, most=True),
        Goal(
            "no driver, no framework", ("duetime", "drivers and frameworks modules"), 0, most=True
        ),
    ],
    needs_server=False,
)
TRIALS = [IDLE, MEMORY, IMPORTING]
