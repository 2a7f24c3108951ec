"""Spans of acts and runs, their parents and links, on every store."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from api.apps import Note
from duetime import Duetime, Every, Retry
from duetime.errors import ActionNotFound, IllegalState
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock
from telemetry.exporters import Spans, attributes_of, context_of, links_of


async def test_a_run_is_a_trace_of_its_own_linked_to_its_scheduling(
    url: str, clock: FakeClock, spans: Spans
) -> None:
    seen = []
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note", queue="mail")
        async def note(payload: Note) -> None:
            seen.append(trace.get_current_span().get_span_context())
            await app.schedule(Note("child"), delay=60)

        with trace.get_tracer("test").start_as_current_span("request") as request:
            action = await app.schedule(Note(), tenant="acme", correlation_id="order:7")
        await app.testing.drain()
    scheduled, inner = spans.all("duetime.schedule")
    run = spans.only("duetime.execute")
    assert scheduled.kind is SpanKind.PRODUCER
    assert run.kind is SpanKind.CONSUMER
    assert scheduled.parent == request.get_span_context()
    assert run.parent is None
    assert links_of(run) == [context_of(scheduled)]
    assert context_of(run)[0] != request.get_span_context().trace_id
    # What the handler does is in the trace of its run.
    assert seen == [run.get_span_context()]
    assert inner.parent == run.get_span_context()
    assert attributes_of(scheduled) == {
        "messaging.system": "duetime",
        "messaging.operation.name": "schedule",
        "messaging.operation.type": "send",
        "messaging.destination.name": "mail",
        "messaging.message.id": str(action.id),
        "messaging.message.conversation_id": "order:7",
        "duetime.kind": "note",
        "duetime.queue": "mail",
        "duetime.tenant": "acme",
    }
    assert attributes_of(run) == {
        "messaging.system": "duetime",
        "messaging.operation.name": "execute",
        "messaging.operation.type": "process",
        "messaging.destination.name": "mail",
        "messaging.message.id": str(action.id),
        "messaging.message.conversation_id": "order:7",
        "duetime.kind": "note",
        "duetime.queue": "mail",
        "duetime.tenant": "acme",
        "duetime.attempt": 1,
        "duetime.outcome": "succeeded",
    }


async def test_an_app_may_continue_the_trace(url: str, clock: FakeClock, spans: Spans) -> None:
    async with Duetime(url, clock=clock, trace="continue", telemetry_tenant=False) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        await app.schedule(Note(), tenant="acme")
        await app.testing.drain()
    scheduled, run = spans.only("duetime.schedule"), spans.only("duetime.execute")
    assert run.parent is not None
    assert (run.parent.trace_id, run.parent.span_id) == context_of(scheduled)
    assert links_of(run) == []
    for span in (scheduled, run):
        assert "duetime.tenant" not in attributes_of(span)


async def test_retries_are_runs_of_their_own(url: str, clock: FakeClock, spans: Spans) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note", retry=Retry(delays=[1]))
        async def note(payload: Note) -> None:
            raise LookupError("no such order")

        action = await app.schedule(Note())
        await app.testing.advance(60)
        await app.retry(action.id)
        await app.testing.advance(60)
    scheduled, runs = spans.only("duetime.schedule"), spans.all("duetime.execute")
    assert [attributes_of(run)["duetime.attempt"] for run in runs] == [1, 2, 3, 4]
    assert [attributes_of(run)["duetime.outcome"] for run in runs] == ["retried", "failed"] * 2
    assert len({context_of(run)[0] for run in runs}) == 4
    assert all(links_of(run) == [context_of(scheduled)] for run in runs)
    for run in runs:
        assert run.status.status_code is StatusCode.ERROR
        assert "no such order" in (run.status.description or "")
        [event] = run.events
        assert event.name == "exception"
        assert dict(event.attributes or {}) == {
            "exception.type": "builtins.LookupError",
            "exception.message": "no such order",
        }
    retried = spans.only("duetime.retry")
    assert attributes_of(retried)["messaging.message.id"] == str(action.id)


async def test_each_verb_has_its_span(url: str, clock: FakeClock, spans: Spans) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        action = await app.schedule(Note(), delay=60)
        await app.reschedule(action.id, delay=90)
        await asyncio.to_thread(app.sync.cancel, action.id)
        many = await app.schedule_many([(Note(), clock.now())] * 3)
        with pytest.raises(IllegalState):
            await app.cancel(action.id)
        missing = TimeOrderedIds()()
        with pytest.raises(ActionNotFound):
            await app.reschedule(missing, delay=1)
    ended = spans.exporter.get_finished_spans()
    assert [(span.name, span.status.status_code) for span in ended] == [
        ("duetime.schedule", StatusCode.UNSET),
        ("duetime.reschedule", StatusCode.UNSET),
        ("duetime.cancel", StatusCode.UNSET),
        ("duetime.schedule", StatusCode.UNSET),
        ("duetime.cancel", StatusCode.ERROR),
        ("duetime.reschedule", StatusCode.ERROR),
    ]
    assert attributes_of(ended[3])["messaging.batch.message_count"] == 3
    # All of a bulk share the trace of the call.
    assert {action.trace for action in many} == {many[0].trace}
    assert f"{context_of(ended[3])[0]:032x}" in str(many[0].trace)
    assert attributes_of(ended[4])["error.type"] == "duetime.errors.IllegalState"


async def test_ticks_and_triggers_link_to_their_runs(
    url: str, clock: FakeClock, spans: Spans
) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.job(Every(hours=1), name="shop-hourly")
        async def hourly() -> None: ...

        await app.testing.advance(3600)
        triggered = await app.jobs.trigger("shop-hourly", by="ann")
        await app.testing.drain()
    ticks, trigger = spans.all("duetime.tick"), spans.only("duetime.trigger")
    first, second = spans.all("duetime.execute")
    assert links_of(first)[0] in [context_of(tick) for tick in ticks]
    assert links_of(second) == [context_of(trigger)]
    assert trigger.kind is SpanKind.PRODUCER
    attributes = attributes_of(trigger)
    assert (attributes["duetime.job"], attributes["duetime.triggered_by"]) == ("shop-hourly", "ann")
    assert attributes["messaging.message.id"] == str(triggered.id)
    run = attributes_of(second)
    assert (run["duetime.job"], run["duetime.triggered_by"]) == ("shop-hourly", "ann")


async def test_a_worker_links_and_measures_like_the_testing_kit(url: str, spans: Spans) -> None:
    async with Duetime(url) as app:

        @app.handler(kind="note")
        def note(payload: Note) -> int:
            return trace.get_current_span().get_span_context().trace_id

        async with app.worker():
            action = await app.schedule(Note())
            done = await app.wait(action.id, timeout=20)
    run = spans.only("duetime.execute")
    assert done.result == context_of(run)[0]
    assert links_of(run) == [context_of(spans.only("duetime.schedule"))]
    assert run.start_time is not None
    assert run.end_time is not None
    assert run.start_time <= run.end_time


async def test_a_trace_that_is_stored_is_shown(url: str, spans: Spans) -> None:
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        action = await app.schedule(Note(), at=datetime.now(UTC) + timedelta(days=1))
        assert await app.get(action.id) == action.__class__(
            **{f: getattr(action, f) for f in action.__dataclass_fields__} | {"created": False}
        )
    trace_id, span_id = context_of(spans.only("duetime.schedule"))
    assert str(action.trace)[:53] == f"00-{trace_id:032x}-{span_id:016x}-"
