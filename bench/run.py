"""What duetime does on this machine: `make bench`, or `python bench/run.py --help`.

Each figure is taken through the public API, by one process, on a fresh store.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duetime import Duetime, State
from duetime.errors import DuetimeError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import rows
import rules
from ticks import ticks

from servers import NoServer, open_server

CHOICES = ["drain", "single", "lateness", "idle", "jobs", "crowd", "rules", "rows"]


@dataclass(frozen=True)
class Noop:
    n: int


@dataclass(frozen=True)
class Timed:
    due: float


async def drain(url: str, count: int) -> str:
    """Schedule `count` no-ops in bulk, then run them all with one worker, as `duetime worker`
    does; over when the store shows that all have finished."""
    app = Duetime(url)
    done = asyncio.Event()
    left = count

    @app.handler(kind="noop")
    async def noop(payload: Noop) -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    began = time.perf_counter()
    for first in range(0, count, 5000):
        await app.schedule_many(
            app.request(Noop(n)) for n in range(first, min(first + 5000, count))
        )
    inserted = time.perf_counter() - began
    began = time.perf_counter()
    working = asyncio.create_task(app.run())
    await done.wait()
    while await app.find(state=State.running, limit=1):
        pass
    drained = time.perf_counter() - began
    os.kill(os.getpid(), signal.SIGTERM)
    await working
    return f"bulk schedule {count / inserted:>9,.0f}/s    drain {count / drained:>9,.0f}/s"


async def lateness(url: str, count: int) -> str:
    """`count` actions spread over ten seconds: how late does each start?"""
    app = Duetime(url)
    late: list[float] = []
    done = asyncio.Event()

    @app.handler(kind="timed")
    async def timed(payload: Timed) -> None:
        late.append(time.time() - payload.due)
        if len(late) == count:
            done.set()

    dice = random.Random(1)  # noqa: S311
    async with app, app.worker():
        start = datetime.now(UTC) + timedelta(seconds=3)
        for _ in range(count):
            due = start + timedelta(seconds=dice.random() * 10)
            await app.schedule(Timed(due.timestamp()), at=due)
        await done.wait()
    millis = sorted(1000 * x for x in late)
    p50, p99 = statistics.median(millis), millis[int(count * 0.99) - 1]
    return f"lateness p50 {p50:.1f} ms    p99 {p99:.1f} ms    max {millis[-1]:.1f} ms"


async def single(url: str, count: int) -> str:
    """`schedule` one by one, each committed before the next."""
    app = Duetime(url)
    app.payload(Noop, kind="noop")
    async with app:
        await app.schedule(Noop(0), delay=3600)
        began = time.perf_counter()
        for n in range(count):
            await app.schedule(Noop(n), delay=3600)
        took = time.perf_counter() - began
    return f"schedule one by one {count / took:>9,.0f}/s"


async def idle(url: str, seconds: int) -> str:
    """What a worker with nothing to do asks of PostgreSQL: each statement is a transaction of
    its own then. Where autovacuum is on, its visits are counted too."""
    import psycopg

    query = (
        "SELECT xact_commit + xact_rollback FROM pg_stat_database "
        "WHERE datname = current_database()"
    )
    app = Duetime(url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as asking:

        async def transactions() -> int:
            row = await (await asking.execute(query)).fetchone()
            assert row is not None
            return int(row[0])

        async with app, app.worker():
            await asyncio.sleep(12)
            before = await transactions()
            await asyncio.sleep(seconds)
            # The first reading is one of those that the second one sees.
            done = await transactions() - before - 1
    return f"idle worker: {done * 60 / seconds:.1f} statements a minute"


@contextmanager
def stores(wanted: str | None) -> Iterator[list[tuple[str, Callable[[], str]]]]:
    """The stores to measure, and how to get a fresh one of each."""
    if wanted is not None:
        yield [(wanted.partition(":")[0], lambda: wanted)]
        return
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(100))
        found: list[tuple[str, Callable[[], str]]] = [
            ("memory", lambda: "memory://"),
            ("sqlite", lambda: f"sqlite:///{folder}/bench{next(numbers)}.db"),
        ]
        try:
            server = open_server()
        except NoServer as missing:
            print(f"postgresql: skipped, {missing}")
            yield found
            return
        try:
            yield [*found, ("postgresql", lambda: server.database_url(server.create_database()))]
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="measure this store only; its tables are left behind")
    parser.add_argument("--count", type=int, default=100_000, help="actions to drain")
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs due at one instant")
    parser.add_argument("--rows", type=int, default=2_000_000, help="of row transitions")
    parser.add_argument("--only", choices=CHOICES)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if options.only in (None, "rules"):
        rules.main()
    with stores(options.url) as found:
        for name, fresh in found:
            measures: dict[str, Callable[[str], Awaitable[str]]] = {
                "drain": lambda url: drain(url, options.count),
                "single": lambda url: single(url, 2000),
                "lateness": lambda url: lateness(url, 200),
            }
            if name.startswith("postgres"):
                measures["idle"] = lambda url: idle(url, 60)
                measures["jobs"] = lambda url: ticks(url, options.jobs, 1)
                measures["crowd"] = lambda url: ticks(url, options.jobs, 4)
            for measure, take in measures.items():
                if options.only in (None, measure):
                    report(name, take(fresh()))
            if name.startswith("postgres") and options.only in (None, "rows"):
                # Two million of them take a few minutes to make.
                rows.measure(fresh(), options.rows, options.rows // 20)


def report(name: str, figures: Awaitable[str]) -> None:
    async def taken() -> str:
        return await figures

    try:
        print(f"{name:<11} {asyncio.run(taken())}", flush=True)
    except DuetimeError as error:
        sys.exit(f"{name}: {error}")


if __name__ == "__main__":
    main()
