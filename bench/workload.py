"""One workload, measured once: `BENCH_URL=... python bench/workload.py NAME COUNT SRC`.

The folder SRC holds the package under measure; PYTHONPATH must name it, too. The usage of the
measured section is printed as JSON. Only the public API is called, so the same file measures any
commit.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from meter import Meter, Usage
from psycopg import AsyncConnection

import duetime
from duetime import Duetime, Retry

if TYPE_CHECKING:  # older commits do not have it
    from duetime.api.arguments import AnyPayload

URL = "BENCH_URL"
# What the workload runs beside: OpenTelemetry's SDK, or a subscription to failures.
BESIDE = "BENCH_BESIDE"
# The part of the spans that the SDK keeps.
SAMPLED = 0.01
BULK_SIZE = 1_000
# `app.stats` counts no more than the newest finished actions.
MAX_COUNTED = 100_000
# Actions before the measured section: they load everything that a process loads once.
WARM_UP_COUNT = 500


@dataclass(frozen=True)
class Noop:
    n: int


@dataclass(frozen=True)
class Transactional:
    n: int


@dataclass(frozen=True)
class Failing:
    n: int


MakePayload: TypeAlias = "Callable[[int], AnyPayload]"


class Load:
    """An app, its handlers, and how many of its actions are left to run."""

    def __init__(self, url: str) -> None:
        self.app = Duetime(url)
        self.left = 0
        self.app.handler(kind="noop")(self.noop)
        self.app.handler(kind="transactional", transactional=True)(self.transactional)
        self.app.handler(kind="failing", retry=Retry.none())(self.failing)
        if os.environ.get(BESIDE) == "subscription":
            self.app.notifications.subscribe("action-failed", in_app=True)

    async def noop(self, payload: Noop) -> None:
        self.count_down()

    async def transactional(self, payload: Transactional, connection: AsyncConnection) -> None:
        self.count_down()

    async def failing(self, payload: Failing) -> None:
        self.count_down()
        raise ValueError("as all of these do")

    def count_down(self) -> None:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGTERM)

    async def schedule(self, payload: MakePayload, count: int) -> None:
        for first in range(0, count, BULK_SIZE):
            numbers = range(first, min(first + BULK_SIZE, count))
            await self.app.schedule_many(self.app.request(payload(n)) for n in numbers)

    async def run(self, count: int) -> None:
        """Run a worker as `duetime worker` does. SIGTERM, sent by the last of `count` handlers,
        lets it store all completions and stop."""
        self.left = count
        await self.app.run()

    async def check(self, finished: int) -> None:
        stats = await self.app.stats()
        unfinished = stats.scheduled + stats.running
        if unfinished or stats.succeeded + stats.failed != min(finished, MAX_COUNTED):
            raise RuntimeError(f"{finished} actions should have finished: {stats}")


async def measure_bulk(load: Load, meter: Meter, count: int) -> Usage:
    await load.schedule(Noop, WARM_UP_COUNT)
    meter.settle()
    before = meter.read()
    await load.schedule(Noop, count)
    return meter.read() - before


async def measure_runs(payload: MakePayload, load: Load, meter: Meter, count: int) -> Usage:
    warm_up = min(count, WARM_UP_COUNT)
    await load.schedule(payload, warm_up)
    await load.run(warm_up)
    await load.schedule(payload, count)
    meter.settle()
    before = meter.read()
    await load.run(count)
    usage = meter.read() - before
    await load.check(warm_up + count)
    return usage


MEASURES: Mapping[str, Callable[[Load, Meter, int], Awaitable[Usage]]] = {
    "drain": partial(measure_runs, Noop),
    "bulk": measure_bulk,
    "transactional": partial(measure_runs, Transactional),
    "failing": partial(measure_runs, Failing),
}


async def measured(name: str, count: int) -> Usage:
    load = Load(os.environ[URL])
    with closing(Meter(os.environ[URL])) as meter:
        async with load.app:
            return await MEASURES[name](load, meter, count)


def main() -> None:
    name, count, src = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    package = Path(duetime.__file__).resolve().parent.parent
    if package != src.resolve():
        sys.exit(f"duetime comes from {package}, not from {src}: set PYTHONPATH")
    migrate(os.environ[URL])
    if os.environ.get(BESIDE) == "sdk":
        set_up_sdk()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        usage = runner.run(measured(name, count))
    print(json.dumps(asdict(usage)))


def set_up_sdk() -> None:
    """Count all metrics and sample a hundredth of the spans, as an application in service does;
    nothing is sent."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))
    traces = TracerProvider(sampler=ParentBasedTraceIdRatio(SAMPLED))
    traces.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(traces)


def migrate(url: str) -> None:
    """Make the tables and all indexes. A first worker would otherwise build the indexes beside its
    work, and each measure is of a database of its own."""
    command = [sys.executable, "-m", "duetime.cli", "migrate", "--url", url]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """As `duetime worker` does: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


if __name__ == "__main__":
    main()
