"""Every way to schedule an action stores the trace of the caller."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from opentelemetry import trace
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from admin.client import admin_of, client_of
from api.apps import Note
from duetime import Action, Duetime, Every
from duetime.testing import FakeClock
from telemetry.exporters import Spans, context_of
from transitions.engines import with_driver
from transitions.reminders import Base, Remind, Visit

JOB = "shop-hourly"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def app_of(url: str, clock: FakeClock | None = None) -> Duetime:
    app = Duetime(url, clock=clock)

    @app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    app.job(Every(hours=1), name=JOB)(lambda: None)
    return app


def trace_ids(actions: Iterable[Any]) -> set[str]:
    return {str(action.trace).split("-")[1] for action in actions}


async def single(app: Duetime) -> Iterable[Action[Any]]:
    return [await app.schedule(Note())]


async def blocking(app: Duetime) -> Iterable[Action[Any]]:
    return [app.sync.schedule(Note())]


async def in_a_thread(app: Duetime) -> Iterable[Action[Any]]:
    return [await asyncio.to_thread(app.sync.schedule, Note())]


async def many(app: Duetime) -> Iterable[Action[Any]]:
    return [*await app.schedule_many([(Note(), app.clock.now())] * 3)]


async def keyed(app: Duetime) -> Iterable[Action[Any]]:
    first = await app.schedule(Note(), key="k", delay=60)
    return [first, await app.schedule(Note("2"), key="k", delay=90, if_exists="replace")]


async def child(app: Duetime) -> Iterable[Action[Any]]:
    return [await app.schedule(Note(), after=await app.schedule(Note(), delay=60))]


async def repeated(app: Duetime) -> Iterable[Action[Any]]:
    cancelled = await app.cancel((await app.schedule(Note(), delay=60)).id)
    return [await app.repeat(cancelled.id)]


async def triggered(app: Duetime) -> Iterable[Action[Any]]:
    return [await app.jobs.trigger(JOB)]


async def backfilled(app: Duetime) -> Iterable[Action[Any]]:
    now = app.clock.now()
    start, end = now - timedelta(hours=30), now - timedelta(hours=20)
    await app.jobs.backfill(JOB, start, end, dry_run=False)
    found = await app.find(job=JOB)
    assert len(found) >= 2
    return found


WAYS = (single, blocking, in_a_thread, many, keyed, child, repeated, triggered, backfilled)


@pytest.mark.parametrize("way", WAYS)
async def test_a_verb_stores_the_trace_of_its_caller(
    url: str,
    clock: FakeClock,
    spans: Spans,
    way: Callable[[Duetime], Awaitable[Iterable[Action[Any]]]],
) -> None:
    async with app_of(url, clock) as app:
        await app.testing.drain()  # declares the job
        clock.advance(4 * 3600)
        with trace.get_tracer("test").start_as_current_span("request") as request:
            made = [*await way(app)]
        stored = [await app.get(action.id) for action in made]
    wanted = {f"{request.get_span_context().trace_id:032x}"}
    assert trace_ids(made) == trace_ids(stored) == wanted


ROUTES: tuple[tuple[str, dict[str, object]], ...] = (
    ("/api/actions", {"kind": "note", "payload": {}}),
    ("/api/actions/many", {"actions": [{"kind": "note", "payload": {}}] * 3}),
    ("/api/actions/{id}/repeat", {}),
    (f"/api/jobs/{JOB}/trigger", {}),
    (
        f"/api/jobs/{JOB}/backfill",
        {"start": "2029-12-31T20:00:00Z", "end": "2029-12-31T23:00:00Z", "dry_run": False},
    ),
)


@pytest.mark.parametrize("sdk", [True, False])
@pytest.mark.parametrize(("path", "body"), ROUTES)
async def test_a_route_stores_the_trace_of_the_request(
    url: str,
    clock: FakeClock,
    request: pytest.FixtureRequest,
    sdk: bool,
    path: str,
    body: dict[str, object],
) -> None:
    if sdk:
        request.getfixturevalue("spans")
    async with app_of(url, clock) as app, client_of(admin_of(app)) as client:
        await app.testing.drain()
        done = await app.cancel((await app.schedule(Note(), delay=60)).id)
        answer: httpx.Response = await client.post(
            path.format(id=done.id), json=body, headers={"traceparent": PARENT}
        )
        assert answer.is_success, answer.text
        made = [action for action in await app.find() if action.id != done.id]
    assert made
    assert trace_ids(made) == {PARENT.split("-")[1]}


def with_session(app: Duetime, url: str) -> None:
    kind = "psycopg" if url.startswith("postgresql") else "pysqlite"
    engine = create_engine(with_driver(url, kind))
    with Session(engine) as session, session.begin():
        app.sync.schedule(Note(), connection=session)
        app.sync.schedule_many([(Note(), app.clock.now())] * 2, connection=session)
    engine.dispose()


def with_raw_connection(app: Duetime, url: str) -> None:
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            app.sync.schedule(Note(), connection=connection)
    else:
        file = sqlite3.connect(url.removeprefix("sqlite:///"))
        with file:
            file.execute("BEGIN")
            app.sync.schedule(Note(), connection=file)
        file.close()


async def with_async_session(app: Duetime, url: str) -> None:
    kind = "psycopg_async" if url.startswith("postgresql") else "aiosqlite"
    engine = create_async_engine(with_driver(url, kind))
    async with AsyncSession(engine) as session, session.begin():
        await app.schedule(Note(), connection=session)
    await engine.dispose()


@pytest.mark.parametrize("way", [with_session, with_raw_connection, with_async_session])
async def test_a_connection_of_the_caller_stores_the_trace(
    durable_url: str, spans: Spans, way: Callable[[Duetime, str], Awaitable[None] | None]
) -> None:
    async with app_of(durable_url) as app:
        await app.find(limit=1)  # creates the tables
        with trace.get_tracer("test").start_as_current_span("request") as request:
            done = way(app, durable_url)
            if done is not None:
                await done
        assert trace_ids(await app.find()) == {f"{request.get_span_context().trace_id:032x}"}


@pytest.mark.parametrize("awaited", [False, True])
async def test_the_actions_of_a_transition_are_in_the_trace_of_the_sweep(
    durable_url: str, clock: FakeClock, spans: Spans, awaited: bool
) -> None:
    on_postgres = durable_url.startswith("postgresql")
    sync_engine = create_engine(with_driver(durable_url, "psycopg" if on_postgres else "pysqlite"))
    kind = "psycopg_async" if on_postgres else "aiosqlite"
    engine = create_async_engine(with_driver(durable_url, kind)) if awaited else sync_engine
    Base.metadata.create_all(sync_engine)
    async with Duetime(durable_url, clock=clock) as app:
        app.payload(Remind, kind="remind")
        app.transitions.register(Base, engine)
        with Session(sync_engine) as session, session.begin():
            session.add(Visit(id=1, remind_at=clock.now()))
        await app.transitions.sweep()
        made = await app.testing.scheduled(Remind)
    Base.metadata.drop_all(sync_engine)
    sync_engine.dispose()
    if isinstance(engine, AsyncEngine):
        await engine.dispose()
    assert len(made) == 1
    assert trace_ids(made) == {f"{context_of(spans.only('duetime.sweep'))[0]:032x}"}
