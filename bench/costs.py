"""Trials of overhead: statements of an idle worker, memory, and import time."""

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

from duetime.bench.draining import schedule_in_bulk
from duetime.bench.figures import RoundFigures
from duetime.bench.processes import worker_processes
from duetime.bench.wait import until_finished, until_working
from duetime.bench.work import Noop, make_app
from faults.proxy import Proxy

# Seconds until a worker that has just started is idle.
SETTLING_SECONDS = 12.0
# Modules that `import duetime` must not load.
HEAVY = ["psycopg", "sqlalchemy", "asyncpg", "fastapi", "starlette", "django", "flask", "typer"]
# `import duetime` loads names lazily: modules loaded by `Duetime` itself count too.
IMPORT = f"""
import json, sys, time
began = time.process_time()
import duetime
imported = time.process_time()
duetime.Duetime
done = time.process_time()
found = [name for name in {HEAVY} if name in sys.modules]
print(json.dumps([imported - began, done - began, found]))
"""


async def idle(spot: Spot) -> RoundFigures:
    """Count the statements of an idle worker."""
    async with make_app(**spot.server_place) as app:
        with closing(Proxy(spot.url)) as between, worker_processes({"url": between.url}) as workers:
            await until_working(app, workers)
            return await statements(between, spot)


async def statements(between: Proxy, spot: Spot) -> RoundFigures:
    """Count the statements that pass the proxy, once the worker is idle. The server's own count
    would include autovacuum."""
    await asyncio.sleep(spot.seconds(SETTLING_SECONDS))
    before, seconds = executed(between), spot.seconds(60)
    await asyncio.sleep(seconds)
    return {"statements /min": (executed(between) - before) * 60 / seconds}


def executed(between: Proxy) -> int:
    """Return how many statements were sent, with and without parameters."""
    return between.seen["E"] + between.seen["Q"]


async def memory(spot: Spot) -> RoundFigures:
    """Measure a worker's growth while 100,000 actions come due at one instant."""
    app = make_app(**spot.server_place)
    async with app:
        with worker_processes(spot.server_place) as workers:
            await until_working(app, workers)
            [pid] = workers.pids
            before = megabytes(pid, "VmRSS")
            # Later than it takes to schedule them all.
            due = app.clock.now() + timedelta(seconds=spot.seconds(25))
            await schedule_in_bulk(app, (Noop(n) for n in range(spot.count(100_000))), at=due)
            await until_finished(app, workers)
            return {"growth MB": megabytes(pid, "VmHWM") - before}


def megabytes(pid: int, name: str) -> float:
    """Return a process's memory: VmRSS is its current size, VmHWM its peak."""
    path = Path(f"/proc/{pid}/status")
    if not path.exists():
        raise Missing("the memory of another process can only be read on Linux")
    found = dict(line.split(":", 1) for line in path.read_text().splitlines())
    return int(found[name].split()[0]) / 1024


async def importing(spot: Spot) -> RoundFigures:
    """Measure the CPU time of `import duetime`, and of `from duetime import Duetime`, in a fresh
    process. The first of two runs compiles the modules; the second, which is measured, loads
    bytecode, whatever PYTHONDONTWRITEBYTECODE is here."""
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
