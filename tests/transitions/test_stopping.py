"""Hooks, subscribers and locks neither keep a worker from stopping nor stop a runner."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from duetime import Duetime, State
from duetime.events.types import TransitionApplied
from duetime.testing import FakeClock
from transitions.engines import ModelDatabase
from transitions.models import Base, Post
from transitions.test_running import ReceivedEvents, commit, soon

both = pytest.mark.parametrize("kind", ["pysqlite", "asyncpg"])


@dataclass(frozen=True)
class Note:
    text: str = ""


async def meet_a_cancelled_task(*_: object) -> None:
    other = asyncio.create_task(asyncio.Event().wait())
    other.cancel()
    await other


Hook = Callable[..., Awaitable[None]]


@both
@pytest.mark.parametrize("how", ["hook", "subscriber"])
async def test_a_task_that_others_cancelled_ends_no_runner(
    database: ModelDatabase, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Duetime("memory://") as app:
        hook = meet_a_cancelled_task if how == "hook" else None
        app.transitions.register(Base, database.engine, interval=3600, on_set_field=hook)
        if how == "subscriber":
            app.on(TransitionApplied, meet_a_cancelled_task)
        received = ReceivedEvents(app)
        async with app.worker():
            for n in (1, 2):
                await commit(database, Post(id=n, publish_at=soon(-1)))
                assert (await received.next())[0] == n
        assert "CancelledError" in caplog.text


@both
async def test_our_own_cancellation_is_not_swallowed(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    reached = asyncio.Event()

    async def hook(*_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    app.transitions.register(Base, database.engine, on_set_field=hook)
    database.add(Post(id=1, publish_at=clock.now()))
    task = asyncio.create_task(app.transitions.sweep())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def waiting_hook(style: str) -> tuple[Callable[..., Any], threading.Event, threading.Event]:
    """It waits for the second event, and sets the first."""
    reached, go_on = threading.Event(), threading.Event()

    def blocking(*_: object) -> None:
        reached.set()
        go_on.wait()

    async def awaiting(*_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    return blocking if style == "blocking" else awaiting, reached, go_on


@both
@pytest.mark.parametrize("style", ["blocking", "awaiting"])
async def test_a_worker_stops_within_its_grace(
    database: ModelDatabase, database_url: str, style: str
) -> None:
    """Whatever a hook does; and what it has not started is given back before."""
    hook, reached, go_on = waiting_hook(style)
    async with Duetime(database_url, grace=0.1, preclaim=60) as app, asyncio.timeout(20):

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        app.transitions.register(Base, database.engine, interval=3600, on_set_field=hook)
        early = await app.schedule(Note(), delay=40)
        try:
            async with app.worker():
                await commit(database, Post(id=1, publish_at=soon(-1)))
                await asyncio.to_thread(reached.wait)
                while (await app.get(early.id)).state is not State.running:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            assert (await app.get(early.id)).state is State.scheduled
        finally:
            go_on.set()


@both
async def test_what_was_not_started_is_given_back_while_a_hook_still_runs(
    database: ModelDatabase, database_url: str
) -> None:
    hook, reached, go_on = waiting_hook("blocking")
    async with Duetime(database_url, grace=20, preclaim=60) as app, asyncio.timeout(20):

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        app.transitions.register(Base, database.engine, interval=3600, on_set_field=hook)
        early = await app.schedule(Note(), delay=40)
        worker = app.worker()
        await worker.__aenter__()
        await commit(database, Post(id=1, publish_at=soon(-1)))
        await asyncio.to_thread(reached.wait)
        while (await app.get(early.id)).state is not State.running:  # noqa: ASYNC110
            await asyncio.sleep(0)
        stopping = asyncio.create_task(worker.__aexit__(None, None, None))
        while (await app.get(early.id)).state is not State.scheduled:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not stopping.done()
        go_on.set()
        await stopping
