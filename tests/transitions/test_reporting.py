"""Hooks, events, counters and spans."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from duetime import Duetime
from duetime.events.types import TransitionApplied
from duetime.testing import FakeClock
from transitions.engines import ON_POSTGRES, ModelDatabase, with_driver
from transitions.models import Base, Post
from transitions.test_failing import Base as Drafts
from transitions.test_failing import Draft


class Calls:
    def __init__(self) -> None:
        self.received: list[Any] = []

    def __call__(self, *arguments: object) -> None:
        self.received.append(arguments)

    async def awaited(self, *arguments: object) -> None:
        await asyncio.sleep(0)
        self.received.append(arguments)


@pytest.mark.parametrize("style", ["__call__", "awaited"])
@pytest.mark.parametrize("bulk", [False, True])
async def test_hooks_are_called_for_each_row_in_order(
    app: Duetime, database: ModelDatabase, clock: FakeClock, style: str, bulk: bool
) -> None:
    calls = Calls()
    hook = getattr(calls, style)
    app.transitions.register(Base, database.engine, bulk=bulk, on_delete=hook, on_set_field=hook)
    now = clock.now()
    database.add(Post(id=1, publish_at=now), Post(id=2, publish_at=now.replace(year=2000)))
    database.add(Post(id=3, expires_at=now), Post(id=4, purge_at=now))
    await app.transitions.sweep()
    assert calls.received == [
        (Post, 2, "status", "published"),
        (Post, 1, "status", "published"),
        (Post, 3),
        (Post, 4),
    ]


async def test_a_hook_sees_what_was_committed(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    seen: list[Any] = []

    def look(model: type[Any], id: int, field: str, to: object) -> None:
        seen.extend(database.rows("SELECT status FROM posts WHERE id = :id", id=id))

    app.transitions.register(Base, database.engine, on_set_field=look)
    database.add(Post(id=1, publish_at=clock.now()))
    await app.transitions.sweep()
    assert seen == [("published",)]


async def test_a_hook_that_raises_disturbs_nothing(
    app: Duetime, database: ModelDatabase, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    received = []

    def hook(model: type[Any], id: int, field: str, to: object) -> None:
        received.append(id)
        if id == 1:
            raise RuntimeError("no")

    app.transitions.register(
        Base, database.engine, on_set_field=hook, logger=logging.getLogger("my")
    )
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    report = await app.transitions.sweep()
    assert (report.updated, report.errors, received) == (3, [], [0, 1, 2])
    assert ("my", "    RuntimeError: no") in [
        (record.name, str(record.exc_info and record.exc_text).rpartition("\n")[2])
        for record in caplog.records
    ]


async def test_events(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    events: list[TransitionApplied] = []
    app.on(TransitionApplied, events.append)
    app.transitions.register(Base, database.engine)
    database.add(Post(id=1, publish_at=clock.now()), Post(id=2, purge_at=clock.now()))
    await app.transitions.sweep()
    common: dict[str, Any] = {"tenant": None, "by": "system", "model": "Post", "table": "posts"}
    assert events == [
        TransitionApplied(
            **common,
            id=1,
            column="publish_at",
            due_at=clock.now(),
            effect="set_field",
            field="status",
            to="published",
        ),
        TransitionApplied(
            **common, id=2, column="purge_at", due_at=clock.now(), effect="hard_delete"
        ),
    ]


def listened(database: ModelDatabase, name: str, listener: Any) -> Any:
    """A factory of sessions with a listener of the application's own."""

    class Listened(Session):
        pass

    event.listen(Listened, name, listener)
    if isinstance(database.engine, AsyncEngine):
        return async_sessionmaker(database.engine, sync_session_class=Listened)
    return sessionmaker(database.engine, class_=Listened)


REFUSE_AT_COMMIT = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused at commit'; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON posts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@pytest.mark.parametrize("kind", ON_POSTGRES)
async def test_a_savepoint_before_a_commit_that_fails_is_no_commit(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    def audit(session: Session) -> None:
        if not session.in_nested_transaction():
            with session.begin_nested():
                session.execute(text("SELECT 1"))

    calls = Calls()
    app.transitions.register(Post, listened(database, "before_commit", audit), on_set_field=calls)
    database.add(Post(id=1, publish_at=clock.now()))
    database.do(REFUSE_AT_COMMIT)
    report = await app.transitions.sweep()
    assert (report.updated, len(report.errors), calls.received) == (0, 1, [])
    assert database.rows("SELECT status FROM posts") == [("draft",)]


@pytest.mark.parametrize("bulk", [False, True])
async def test_a_listener_that_fails_after_the_commit_loses_nothing(
    app: Duetime,
    database: ModelDatabase,
    clock: FakeClock,
    bulk: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def away(session: Session) -> None:
        if session.info.get("by") == "system":
            raise RuntimeError("the search index is away")

    calls = Calls()
    app.on(TransitionApplied, lambda event: calls.received.append(event.id))
    sessions = listened(database, "after_commit", away)
    app.transitions.register(Post, sessions, on_set_field=calls, bulk=bulk)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    report = await app.transitions.sweep()
    assert (report.updated, report.errors) == (3, [])
    assert [call[1] for call in calls.received[:3]] == [0, 1, 2]
    assert calls.received[3:] == [0, 1, 2]
    assert "the search index is away" in caplog.text


@pytest.mark.parametrize("kind", ["psycopg", "psycopg_async"])
async def test_rows_committed_before_the_connection_was_lost_are_reported(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """Row 3 is refused by the commit, so each half has its own; the second is cut off."""
    database.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.id = 3 THEN RAISE EXCEPTION 'no'; END IF; RETURN NULL; END $$"
    )
    database.do(
        "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON posts DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    cut = False

    def cut_off(session: Session, *_: object) -> None:
        nonlocal cut
        if not cut and sorted(row.id for row in session.dirty) == [2, 3]:
            cut = True
            session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    calls = Calls()
    sessions = listened(database, "before_flush", cut_off)
    app.transitions.register(Post, sessions, on_set_field=calls)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(4)))
    report = await app.transitions.sweep()
    assert (report.updated, [error.id for error in report.errors]) == (2, [None])
    report = await app.transitions.sweep()
    assert (report.updated, [error.id for error in report.errors]) == (1, [3])
    assert [call[1] for call in calls.received] == [0, 1, 2]


# In a process of its own: what collects figures can be set once in each.
MEASURED = """
import asyncio, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

reader, spans = InMemoryMetricReader(), InMemorySpanExporter()
metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
traced = TracerProvider()
traced.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(traced)

from sqlalchemy import create_engine
from duetime import Duetime
from transitions.test_failing import Base

async def main():
    app = Duetime("memory://")
    app.transitions.register(Base, create_engine(sys.argv[1]))
    for _ in range(2):
        await app.transitions.sweep()
    for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics:
        for metric in scope.metrics:
            for point in metric.data.data_points:
                of = dict(point.attributes).get("duetime.transition")
                value = getattr(point, "value", point)
                print(scope.scope.name, metric.name, metric.unit, of, value)
    print([span.name for span in spans.get_finished_spans()])

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
def test_counters_duration_and_span(database: ModelDatabase, clock: FakeClock) -> None:
    database.make_tables(Drafts)
    past = clock.now().replace(year=2020)
    texts = ["fine", "fine", "bad"]
    database.add(*(Draft(id=n, at=past, text=text) for n, text in enumerate(texts)))
    tests = Path(__file__).parents[1]
    output = subprocess.run(
        [sys.executable, "-c", MEASURED, with_driver(database.url, database.kind)],
        env={**os.environ, "PYTHONPATH": str(tests)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    assert "duetime duetime.transition.applied {row} Draft.at 2\n" in output
    assert "duetime duetime.transition.failed {row} Draft.at 1\n" in output
    assert "duetime duetime.sweep.duration s None HistogramDataPoint" in output
    assert "count=2" in output
    assert output.endswith("['duetime.sweep', 'duetime.sweep']\n")
