"""What was not accepted by the store leaves no span and no count that says otherwise."""

import itertools
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode

from api.apps import Note
from duetime import Cancel, Context, Duetime, Every, Fail, Snooze
from duetime.store.base import Store
from duetime.telemetry import safe_spans
from duetime.testing import FakeClock
from polling import until
from telemetry.exporters import Metrics, Spans, attributes_of, context_of

numbers = itertools.count()

KILLED = """
import asyncio, os, signal, sys
from duetime import Duetime
from api.apps import Note
app = Duetime(sys.argv[1], lease=1)
@app.handler(kind=sys.argv[2])
async def note(payload: Note) -> None:
    print("started", flush=True)
    await asyncio.sleep(3600)
asyncio.run(app.run())
"""


def killed_worker(url: str, kind: str) -> None:
    """Kill a worker in the middle of a run."""
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, kind],
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == b"started\n"
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()


async def test_a_killed_workers_run_is_counted_as_lost_once(
    durable_url: str, spans: Spans, meters: Metrics
) -> None:
    kind = f"killed-{next(numbers)}"
    async with Duetime(durable_url, lease=1, sweep=0.2, poll=0.2, poll_unheard=0.2) as app:

        @app.handler(kind=kind)
        async def note(payload: Note) -> None: ...

        action = await app.schedule(Note())
        killed_worker(durable_url, kind)
        async with app.worker():
            await app.wait(action.id, timeout=30)
    assert meters.count("duetime.action.lost", kind=kind) == 1
    assert meters.count("duetime.action.executed", kind=kind) == 1
    assert [point.count for point in meters.points("duetime.action.duration", kind=kind)] == [1]
    run = spans.only("duetime.execute")
    assert attributes_of(run)["duetime.outcome"] == "succeeded"


async def test_a_lost_lease_is_no_success(
    url: str, spans: Spans, meters: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    kind = f"cut-off-{next(numbers)}"
    async with Duetime(url) as app:

        @app.handler(kind=kind)
        async def note(payload: Note) -> None:
            """Another worker takes the action over meanwhile."""
            await take_over(app.store)

        async with app.worker():
            await app.schedule(Note())
            await until(lambda: spans.all("duetime.execute"))
    run = spans.only("duetime.execute")
    assert attributes_of(run)["duetime.outcome"] == "lost"
    assert run.status.status_code is StatusCode.ERROR
    trace_id, span_id = context_of(run)
    [line] = [record for record in caplog.records if "lease" in record.getMessage()]
    assert (line.trace_id, line.span_id) == (f"{trace_id:032x}", f"{span_id:016x}")  # type: ignore[attr-defined]
    assert meters.count("duetime.action.executed", kind=kind) == 0
    assert meters.points("duetime.action.duration", kind=kind) == []


async def take_over(store: Store) -> None:
    """Complete the only running action under its token, as if this were another worker."""
    from duetime.model.actions.completion import Finish
    from duetime.model.filter import Filter
    from duetime.model.state import Outcome, State
    from duetime.model.tenant import ANY

    [record] = await store.perform(store.find(Filter(tenant=ANY)))
    assert record.token is not None
    done = Finish(record.id, record.token, State.failed, Outcome.failed, error="elsewhere")
    await store.perform(store.complete([done]))


@pytest.mark.parametrize(
    ("signal", "outcome"),
    [(Snooze(1), "snoozed"), (Cancel("not wanted"), "cancelled"), (Fail("no"), "failed")],
)
async def test_only_failures_are_errors(
    url: str, clock: FakeClock, spans: Spans, signal: Exception, outcome: str
) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note")
        async def note(payload: Note, ctx: Context) -> None:
            if not spans.all("duetime.execute"):
                raise signal

        await app.schedule(Note())
        await app.testing.advance(60)
    run = spans.all("duetime.execute")[0]
    assert attributes_of(run)["duetime.outcome"] == outcome
    failed = outcome == "failed"
    assert (run.status.status_code is StatusCode.ERROR) is failed
    assert [event.name for event in run.events] == ["exception"] * failed


class Broken(SpanExporter):
    """An exporter that raises."""

    def export(self, spans: object) -> SpanExportResult:
        raise ConnectionError("the collector is away")


class Hanging(SpanExporter):
    """An exporter that hangs."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def export(self, spans: object) -> SpanExportResult:
        self.released.wait()
        return SpanExportResult.SUCCESS


async def test_no_action_fails_because_an_exporter_raises(url: str, spans: Spans) -> None:
    spans.provider.add_span_processor(SimpleSpanProcessor(Broken()))
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> int:
            return 7

        async with app.worker():
            action = await app.schedule(Note())
            assert (await app.wait(action.id, timeout=20)).result == 7


class Failing(SpanProcessor):
    """A processor that raises when a span starts, or when it ends: the SDK lets that through."""

    def __init__(self, when: str) -> None:
        self.when = when

    def on_start(self, span: object, parent_context: object = None) -> None:
        if self.when == "start":
            raise ConnectionError("the collector is away")

    def on_end(self, span: object) -> None:
        if self.when == "end":
            raise ConnectionError("the collector is away")


@pytest.mark.parametrize("when", ["start", "end"])
async def test_nothing_fails_because_a_processor_raises(
    url: str,
    spans: Spans,
    when: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(safe_spans, "_failures", safe_spans.SdkFailures())
    spans.provider.add_span_processor(Failing(when))
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> int:
            return 7

        app.job(Every(seconds=1), name="shop-often")(lambda: None)
        async with app.worker():
            action = await app.schedule(Note())
            assert (await app.wait(action.id, timeout=20)).result == 7
            await app.cancel((await app.schedule(Note(), delay=60)).id)
            await until(lambda: app.jobs.runs("shop-often"))
    lines = [record.getMessage() for record in caplog.records if record.levelname != "INFO"]
    assert lines == ["a span was not recorded: the OpenTelemetry SDK failed, logged once a minute"]


async def test_no_action_waits_for_an_exporter_that_hangs(url: str, spans: Spans) -> None:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    hanging = Hanging()
    processor = BatchSpanProcessor(hanging, schedule_delay_millis=1, export_timeout_millis=100)
    spans.provider.add_span_processor(processor)
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> int:
            return 7

        async with app.worker():
            for _ in range(3):
                action = await app.schedule(Note(), delay=timedelta(milliseconds=10))
                assert (await app.wait(action.id, timeout=20)).result == 7
    assert not hanging.released.is_set()
    hanging.released.set()
    processor.shutdown()  # type: ignore[no-untyped-call]
    runs: list[ReadableSpan] = [*spans.all("duetime.execute")]
    assert len(runs) == 3
