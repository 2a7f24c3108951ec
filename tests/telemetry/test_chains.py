"""Which runs and acts are linked by what follows from them: children, and durable subscribers."""

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from opentelemetry.sdk.trace import ReadableSpan

from api.apps import Note
from duetime import ActionCancelled, ActionSucceeded, Duetime
from telemetry.exporters import Spans, attributes_of, context_of, links_of, traced


@dataclass(frozen=True)
class Kept:
    text: str = "kept"


def run_of(spans: Spans, action_id: object) -> ReadableSpan:
    [found] = [
        span
        for span in spans.all("duetime.execute")
        if attributes_of(span)["messaging.message.id"] == str(action_id)
    ]
    return found


def app_of(url: str, trace: Literal["link", "continue"] = "link") -> Duetime:
    app = Duetime(url, trace=trace)

    @app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    return app


async def test_a_child_links_to_its_scheduling_and_to_its_parents_run(
    url: str, spans: Spans
) -> None:
    async with app_of(url) as app:
        parent = await app.schedule(Note("parent"))
        child = await app.schedule(Note("child"), after=parent)
        await app.testing.drain()
        shown = await app.get(child.id)
    scheduled = spans.all("duetime.schedule")[1]
    assert links_of(run_of(spans, child.id)) == [
        context_of(scheduled),
        context_of(run_of(spans, parent.id)),
    ]
    assert shown.trace == child.trace


async def test_a_worker_links_children_as_the_testing_kit_does(url: str, spans: Spans) -> None:
    async with app_of(url) as app:
        parent = await app.schedule(Note("parent"), delay=0.3)
        child = await app.schedule(Note("child"), after=parent)
        async with app.worker():
            await app.wait(child.id, timeout=20)
    assert context_of(run_of(spans, parent.id)) in links_of(run_of(spans, child.id))


async def test_a_child_that_continues_its_trace_links_to_its_parents_run(
    url: str, spans: Spans
) -> None:
    async with app_of(url, trace="continue") as app:
        parent = await app.schedule(Note("parent"))
        child = await app.schedule(Note("child"), after=parent)
        await app.testing.drain()
    run = run_of(spans, child.id)
    assert run.parent is not None
    assert f"{run.parent.span_id:016x}" in str(child.trace)
    assert links_of(run) == [context_of(run_of(spans, parent.id))]


async def test_the_child_of_a_transactional_run_links_to_it(tmp_path: Path, spans: Spans) -> None:
    async with app_of(f"sqlite:///{tmp_path}/due.db") as app:

        @app.handler(kind="keep", transactional=True)
        def keep(payload: Kept, connection: sqlite3.Connection) -> None: ...

        parent = await app.schedule(Kept())
        child = await app.schedule(Note("child"), after=parent)
        await app.testing.drain()
    assert context_of(run_of(spans, parent.id)) in links_of(run_of(spans, child.id))


async def test_a_child_scheduled_without_an_sdk_links_to_its_parents_run(
    url: str,
) -> None:
    spans = Spans()
    async with app_of(url) as app:
        parent = await app.schedule(Note("parent"))
        child = await app.schedule(Note("child"), after=parent)
        with traced(spans):
            await app.testing.drain()
        assert (await app.get(child.id)).trace is None
    assert links_of(run_of(spans, child.id)) == [context_of(run_of(spans, parent.id))]


async def test_the_action_of_a_subscriber_links_to_the_run(url: str, spans: Spans) -> None:
    async with app_of(url) as app:

        async def subscriber(event: ActionSucceeded) -> None: ...

        app.on(ActionSucceeded, subscriber, durable=True)

        action = await app.schedule(Note())
        await app.testing.drain()
    [subscriber_run] = [
        s for s in spans.all("duetime.execute") if s is not run_of(spans, action.id)
    ]
    assert links_of(subscriber_run) == [context_of(run_of(spans, action.id))]


async def test_the_actions_of_subscribers_link_each_to_its_own_act(url: str, spans: Spans) -> None:
    async with app_of(url) as app:

        async def subscriber(event: ActionCancelled) -> None: ...

        app.on(ActionCancelled, subscriber, durable=True)

        actions = [await app.schedule(Note(), delay=60) for _ in range(20)]
        await asyncio.gather(*(app.cancel(action.id) for action in actions))
        await app.testing.drain()
    acts = {context_of(span) for span in spans.all("duetime.cancel")}
    linked = [link for run in spans.all("duetime.execute") for link in links_of(run)]
    assert len(linked) == 20
    assert {*linked} == acts
