"""An action that expires while it waits in its worker is cancelled, and its handler not called."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Log, Note, Other, with_payloads
from duetime import Duetime, State
from duetime.model.actions.action import Action
from duetime.testing import FakeClock
from polling import until


async def assert_expired(app: Duetime, action: Action) -> None:
    done = await app.wait(action.id, timeout=20)
    assert (done.state, done.cancelled_by, done.attempt) == (State.cancelled, "system", 0)
    assert (done.error or "").startswith("expired at")
    assert await app.runs(action.id) == []


@pytest.mark.parametrize("early", [0, 0.2], ids=["due", "claimed early"])
async def test_an_action_expires_while_it_waits_for_a_slot(
    app: Duetime, clock: FakeClock, early: float
) -> None:
    ran, busy, go_on = Log(), asyncio.Event(), asyncio.Event()

    @app.handler()
    async def note(payload: Note) -> None:
        ran(payload.text)

    @app.handler()
    async def other(payload: Other) -> None:
        busy.set()
        await go_on.wait()

    expires = clock.now() + timedelta(seconds=2)
    async with app.worker(concurrency=1), asyncio.timeout(20):
        blocking = await app.schedule(Other())
        await busy.wait()
        waiting = await app.schedule(Note("late"), delay=early, expires=expires)
        lasting = await app.schedule(Note("in time"), delay=early)
        clock.advance(seconds=3)
        go_on.set()
        await assert_expired(app, waiting)
        assert (await app.wait(lasting.id, timeout=20)).state is State.succeeded
        assert (await app.wait(blocking.id, timeout=20)).state is State.succeeded
    assert ran.lines == ["in time"]


async def test_a_running_handler_is_not_disturbed(app: Duetime, clock: FakeClock) -> None:
    busy, go_on = asyncio.Event(), asyncio.Event()

    @app.handler()
    async def note(payload: Note) -> None:
        busy.set()
        await go_on.wait()

    async with app.worker(), asyncio.timeout(20):
        action = await app.schedule(Note(), expires=clock.now() + timedelta(seconds=2))
        await busy.wait()
        clock.advance(seconds=3)
        go_on.set()
        assert (await app.wait(action.id, timeout=20)).state is State.succeeded


async def test_an_action_expires_while_it_waits_for_its_transaction(
    sqlite_path: Path, clock: FakeClock
) -> None:
    """Transactions of SQLite follow one another."""
    ran, busy, go_on = Log(), asyncio.Event(), asyncio.Event()
    engine = create_async_engine(f"sqlite+aiosqlite:///{sqlite_path}")
    app = Duetime(f"sqlite:///{sqlite_path}", clock=clock, sessions=async_sessionmaker(engine))

    async with with_payloads(app):

        @app.handler(transactional=True)
        async def note(payload: Note, session: AsyncSession) -> None:
            ran(payload.text)
            busy.set()
            await go_on.wait()

        await expire_behind_another(app, clock, busy.wait, go_on.set)
    await engine.dispose()
    assert ran.lines == ["first"]


async def test_an_action_with_a_thread_expires_while_it_waits_for_its_transaction(
    sqlite_path: Path, clock: FakeClock
) -> None:
    ran, busy, go_on = Log(), threading.Event(), threading.Event()
    engine = create_engine(f"sqlite:///{sqlite_path}")
    app = Duetime(f"sqlite:///{sqlite_path}", clock=clock, sessions=sessionmaker(engine))

    async with with_payloads(app):

        @app.handler(transactional=True)
        def note(payload: Note, session: Session) -> None:
            ran(payload.text)
            busy.set()
            go_on.wait(20)

        await expire_behind_another(app, clock, lambda: until(busy.is_set), go_on.set)
    engine.dispose()
    assert ran.lines == ["first"]


async def expire_behind_another(app: Duetime, clock: FakeClock, busy: Any, go_on: Any) -> None:
    """Let an action expire after its worker claimed it, while the handler of an earlier one runs,
    which holds the write lock."""
    first = await app.schedule(Note("first"))
    clock.advance(seconds=1)
    second = await app.schedule(Note("second"), expires=clock.now() + timedelta(seconds=2))
    async with app.worker(), asyncio.timeout(20):
        await busy()
        assert (await app.get(second.id)).state is State.running
        clock.advance(seconds=3)
        go_on()
        await assert_expired(app, second)
        assert (await app.wait(first.id, timeout=20)).state is State.succeeded
