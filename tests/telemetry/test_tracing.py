"""Traces across processes, connections and requests; and what leaves no span."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from admin.client import admin_of, client_of
from api.apps import Note
from duetime import Duetime
from duetime.testing import FakeClock
from telemetry.exporters import Spans, attributes_of, context_of, links_of
from transitions.engines import with_driver

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

SCHEDULES = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
from duetime import Duetime
from api.apps import Note
app = Duetime(sys.argv[1])
@app.handler(kind="note")
async def note(payload: Note) -> None: ...
with trace.get_tracer("test").start_as_current_span("request") as span:
    app.sync.schedule(Note())
    print(f"{span.get_span_context().trace_id:032x}")
"""


def schedule_elsewhere(url: str) -> str:
    """Schedule in a process of its own; return the id of the trace."""
    return subprocess.run(
        [sys.executable, "-c", SCHEDULES, url],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout.strip()


async def test_a_run_in_another_process_is_linked(durable_url: str, spans: Spans) -> None:
    scheduled = await asyncio.to_thread(schedule_elsewhere, durable_url)
    async with Duetime(durable_url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        await app.testing.drain()
    [(trace_id, _)] = links_of(spans.only("duetime.execute"))
    assert f"{trace_id:032x}" == scheduled


def of_app(url: str) -> Duetime:
    app = Duetime(url)

    @app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    return app


async def sent(app: Duetime, headers: dict[str, str]) -> Any:
    async with client_of(admin_of(app)) as client:
        answer: httpx.Response = await client.post(
            "/api/actions", json={"kind": "note", "payload": {}}, headers=headers
        )
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("headers", "trace_of_action"),
    [
        ({"traceparent": PARENT}, PARENT),
        ({"traceparent": PARENT, "tracestate": "rojo=1"}, f"{PARENT} rojo=1"),
        ({"traceparent": PARENT, "tracestate": "=;="}, PARENT),
        ({"traceparent": "0" * 5000}, None),
        ({"traceparent": "nonsense", "tracestate": "x" * 5000}, None),
        ({}, None),
    ],
)
async def test_the_trace_of_a_request_is_stored_without_an_sdk(
    headers: dict[str, str], trace_of_action: str | None
) -> None:
    async with of_app("memory://") as app:
        action = await sent(app, headers)
        await app.testing.drain()
        assert action["trace"] == trace_of_action
        assert (await app.get(action["id"])).state == "succeeded"


async def test_a_request_is_the_parent_of_what_it_schedules(url: str, spans: Spans) -> None:
    async with of_app(url) as app:
        action = await sent(app, {"traceparent": PARENT})
        await app.testing.drain()
    scheduled, run = spans.only("duetime.schedule"), spans.only("duetime.execute")
    assert scheduled.parent is not None
    # The web framework may have made a span of the request between the two.
    assert f"{scheduled.parent.trace_id:032x}" in PARENT
    assert attributes_of(scheduled)["messaging.message.id"] == action["id"]
    assert links_of(run) == [context_of(scheduled)]


def test_a_rolled_back_transaction_leaves_no_span(
    durable_url: str, clock: FakeClock, spans: Spans
) -> None:
    app = of_app(durable_url)
    kind = "psycopg" if durable_url.startswith("postgresql") else "pysqlite"
    engine = create_engine(with_driver(durable_url, kind))
    app.sync.find(limit=1)  # creates the tables
    with Session(engine) as session:
        app.sync.schedule(Note(), connection=session)
        session.rollback()
        assert spans.all("duetime.schedule") == []
        kept = app.sync.schedule(Note(), connection=session)
        assert spans.all("duetime.schedule") == []
        session.commit()
    engine.dispose()
    scheduled = spans.only("duetime.schedule")
    assert attributes_of(scheduled)["messaging.message.id"] == str(kept.id)
    assert f"{context_of(scheduled)[1]:016x}" in str(kept.trace)
    app.sync.close()


async def test_a_cancelled_action_has_no_run(url: str, spans: Spans) -> None:
    async with of_app(url) as app:
        action = await app.schedule(Note(), at=datetime(2100, 1, 1, tzinfo=UTC))
        await app.cancel(action.id)
        await app.testing.drain()
    assert spans.all("duetime.execute") == []
