"""The text for Prometheus, read by its own parser, and who serves it."""

import asyncio
import itertools
import math
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from datetime import timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from admin.client import NOBODY, admin_of, client_of
from api.apps import Note
from duetime import Duetime
from duetime.cli.metrics_port import Families, SummedMetrics
from duetime.model.state import State
from duetime.telemetry.labels import OTHER
from duetime.telemetry.meters import Meters
from duetime.telemetry.prometheus import prometheus_registry, prometheus_text
from duetime.testing import FakeClock
from polling import until

numbers = itertools.count()

COUNTED = """# HELP duetime_action_executed_total Actions that succeeded.
# TYPE duetime_action_executed_total counter
duetime_action_executed_total{duetime_kind="a\\"b\\nc"} %d.0
# HELP duetime_workers Living workers of the store.
# TYPE duetime_workers gauge
duetime_workers 2.0
# HELP duetime_slots_used Slots of this process in which actions run.
# TYPE duetime_slots_used gauge
duetime_slots_used %d.0
"""


def samples(text: str, name: str, **labels: str) -> Iterator[tuple[dict[str, str], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                yield sample.labels, sample.value


def quantile(text: str, name: str, fraction: float, **labels: str) -> float:
    """As `histogram_quantile` computes it."""
    found = {float(each["le"]): count for each, count in samples(text, f"{name}_bucket", **labels)}
    rank, lower, below = fraction * found[math.inf], 0.0, 0.0
    for bound, count in sorted(found.items()):
        if count >= rank:
            return lower + (bound - lower) * (rank - below) / (count - below)
        lower, below = bound, count
    raise AssertionError


async def test_lateness_agrees_with_the_buckets(url: str, clock: FakeClock) -> None:
    prometheus_registry()
    kind = f'late "{next(numbers)}"\n\\'
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="late", aliases=[])
        async def late(payload: Note) -> None: ...

        now = clock.now()
        await app.schedule_many([(Note(), now) for _ in range(98)], connection=None)
        await app.testing.drain()
        await app.schedule_many([(Note(), now) for _ in range(2)])
        clock.advance(4)
        await app.testing.drain()
    text = prometheus_text().decode()
    name = "duetime_action_lateness_seconds"
    counted = [v for _, v in samples(text, f"{name}_count", duetime_kind="late")]
    assert sum(counted) % 100 == 0
    assert quantile(text, name, 0.5, duetime_kind="late") <= 0.0005
    # Two of a hundred were 4 s late: in the bucket from 2.5 to 5 s.
    assert 2.5 < quantile(text, name, 0.99, duetime_kind="late") <= 5
    assert kind not in text


def test_strange_label_values_are_read_back() -> None:
    prometheus_registry()
    strange = 'a "quoted" \\ value\nduetime_workers 7 \u00e9\u2028'
    Meters().scheduled(strange, strange, strange, 3, job=strange)
    text = prometheus_text().decode()
    [(labels, count)] = samples(text, "duetime_action_scheduled_total", duetime_kind=strange)
    assert count == 3
    named = ("duetime_queue", "duetime_tenant", "duetime_job")
    assert [labels[name] for name in named] == [strange] * 3
    assert [value for _, value in samples(text, "duetime_workers") if value == 7] == []


async def test_of_201_kinds_200_have_names() -> None:
    prometheus_registry()
    first = next(numbers)
    kinds = [f"many-{first}-{n}" for n in range(201)]
    async with Duetime("memory://") as app:
        types = [make_dataclass(kind.replace("-", "_"), [], frozen=True) for kind in kinds]
        for kind, type_ in zip(kinds, types, strict=True):
            app.payload(type_, kind=kind)
            app.handler(kind=kind)(_handler_of(type_))
        actions = [await app.schedule(type_()) for type_ in types]
        await app.testing.drain()
        assert {(await app.get(action.id)).state for action in actions} == {State.succeeded}
    text = prometheus_text().decode()
    named = {labels["duetime_kind"] for labels, _ in samples(text, "duetime_action_executed_total")}
    assert {*kinds} - named == {kinds[200]}
    assert OTHER in named


async def test_the_route_serves_the_text_to_those_who_may_read_it() -> None:
    async with Duetime("memory://") as app:

        @app.handler(kind="served")
        async def served(payload: Note) -> None: ...

        async with client_of(admin_of(app)) as client:
            await client.get("/metrics")
            await app.schedule(Note())
            answer = await client.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        [(labels, count)] = samples(
            answer.text, "duetime_action_scheduled_total", duetime_kind="served"
        )
        assert (labels["duetime_tenant"], count) == ("global", 1)
        async with client_of(admin_of(app), NOBODY) as stranger:
            assert (await stranger.get("/metrics")).status_code == 403


# -- a supervisor --------------------------------------------------------------------


def test_processes_are_added_up_and_keep_counting_once_they_have_ended() -> None:
    first, second = Families.of(COUNTED % (3, 1)), Families.of(COUNTED % (4, 2))
    total = Families()
    total.add(first.counters())
    total.add(second)
    read = {
        (sample.name, sample.labels.get("duetime_kind")): sample.value
        for metric in total.metrics()
        for sample in metric.samples
    }
    assert read == {
        ("duetime_action_executed_total", 'a"b\nc'): 7.0,
        ("duetime_workers", None): 2.0,
        ("duetime_slots_used", None): 2.0,
    }


def test_a_process_that_ended_keeps_its_last_counts() -> None:
    summed = SummedMetrics()
    line = summed.open_line()

    def answer(text: str) -> None:
        assert line.recv(1) == b"?"
        line.sendall(len(text).to_bytes(4) + text.encode())

    import threading

    thread = threading.Thread(target=answer, args=(COUNTED % (3, 1),))
    thread.start()
    assert {metric.name for metric in summed.collect()} == {
        *("duetime_action_executed", "duetime_workers", "duetime_slots_used")
    }
    thread.join()
    line.close()
    for _ in range(2):
        [metric] = summed.collect()
        assert [sample.value for sample in metric.samples] == [3.0]


APP = """
from dataclasses import dataclass
from duetime import Duetime
app = Duetime("sqlite:///shop.db", sweep=0.3, poll=0.3, poll_unheard=0.3)
@dataclass(frozen=True)
class Note:
    text: str = "hello"
@app.handler(kind="note")
async def note(payload: Note) -> None: ...
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def scraped(port: int) -> str:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
            return text
    except OSError:
        return ""


@pytest.mark.parametrize("processes", [1, 2])
async def test_the_port_of_a_worker(tmp_path: Path, processes: int) -> None:
    (tmp_path / "shop.py").write_text(APP)
    port = free_port()
    options = ["--metrics-port", str(port), "--processes", str(processes)]
    command = [sys.executable, "-m", "duetime.cli", "worker", "shop:app", *options]
    worker = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    kind = {"duetime_kind": "note"}
    try:
        async with Duetime(f"sqlite:///{tmp_path / 'shop.db'}") as app:
            app.handler(kind="note")(_note)
            await until(lambda: "duetime_workers" in scraped(port), timeout=60)
            for _ in range(10):
                action = await app.schedule(Note(), delay=timedelta(milliseconds=1))
                await app.wait(action.id, timeout=30)

        def executed() -> float:
            found = samples(scraped(port), "duetime_action_executed_total", **kind)
            return sum(count for _, count in found)

        await until(lambda: executed() == 10, timeout=60)
        again = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, stderr=subprocess.PIPE)
        _, said = await again.communicate()
        assert again.returncode == 1
        assert f"--metrics-port {port}: nothing can listen on 127.0.0.1: " in said.decode()
        assert not re.search("Traceback", said.decode())
    finally:
        worker.terminate()
        assert await worker.wait() == 0


async def _note(payload: Note) -> None: ...


def _handler_of(type_: type) -> Callable[[object], None]:
    def handle(payload: object) -> None: ...

    handle.__annotations__["payload"] = type_
    return handle
