"""Verbs that meet on one connection, or are interrupted there, leave whole flows or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partialmethod
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from api.apps import Note, Other, with_payloads
from duetime import Duetime, State
from duetime.errors import ActionNotFound, ConfigError, IllegalState
from duetime.model.actions.action import Action
from duetime.model.filter import Filter
from duetime.store.current_transaction import current_joined_store
from duetime.store.flow import Rows
from duetime.store.sql.joining.asyncpg import AsyncpgCaller
from duetime.store.sql.joining.base import AsyncCaller
from duetime.store.sql.joining.locks import loop_lock
from duetime.store.sql.joining.psycopg import AsyncPsycopgCaller
from joining.callers import ON_POSTGRES, Caller
from polling import until
from store.postgres_helpers import waiting

LATER = datetime(2099, 1, 1, tzinfo=UTC)
ASYNC = [name for name in ON_POSTGRES if "sync" in name]
FETCHING: dict[str, type[AsyncCaller]] = {
    "async-psycopg": AsyncPsycopgCaller,
    "asyncpg": AsyncpgCaller,
}


@pytest.mark.parametrize("caller_name", ASYNC, indirect=True)
async def test_a_failing_verb_does_not_roll_back_its_neighbour(
    app: Duetime, caller: Caller
) -> None:
    await caller.call(app, "schedule", Other(), at=LATER)  # after this the connection is admitted
    answers: Any = await asyncio.gather(
        caller.call(app, "schedule", Note("1"), at=LATER, key="a"),
        caller.call(app, "schedule", Note("2"), after=uuid4()),
        return_exceptions=True,
    )
    stored, failed = answers
    await caller.commit()
    assert isinstance(failed, ActionNotFound)
    assert (await app.get(stored.id)).payload == Note("1")


def test_threads_that_share_a_connection_do_not_roll_back_each_other(
    sqlite_path: Path,
) -> None:
    """A transactional handler may pass its connection to several threads."""
    app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
    app.sync.find()
    with closing(sqlite3.connect(sqlite_path, check_same_thread=False)) as mine:

        def schedule(number: int) -> Action | None:
            # Each third call fails and is rolled back.
            after = None if number % 3 else uuid4()
            key = f"k{number}"
            try:
                return app.sync.schedule(Note(), at=LATER, key=key, after=after, connection=mine)
            except ActionNotFound:
                return None

        with ThreadPoolExecutor(4) as threads:
            stored = [
                action.id for action in threads.map(schedule, range(150)) if action is not None
            ]
        mine.commit()
    assert len(stored) == 100
    assert {action.id for action in app.sync.find(limit=200)} == set(stored)
    app.sync.close()


async def hold_lock(owner: object) -> None:
    async with loop_lock(owner):
        await asyncio.sleep(0)


def test_a_connection_may_meet_one_event_loop_after_another() -> None:
    class Owner:
        """Stands for a connection, such as an AsyncSession used by several loops in turn."""

    owner = Owner()

    async def two_at_once() -> None:
        await asyncio.gather(hold_lock(owner), hold_lock(owner))

    asyncio.run(two_at_once())
    asyncio.run(two_at_once())


async def interrupt(
    self: AsyncCaller, fetch: Any, sent: Iterator[int], nth: int, answered: bool, *statement: Any
) -> Rows:
    """Fetch; but the task that sends the nth statement is cancelled, while that is under way or
    once it is answered."""
    this = next(sent) == nth
    if this and not answered:
        cancel_current()
    rows: Rows = await fetch(self, *statement)
    if this and answered:
        cancel_current()
        await asyncio.sleep(0)
    return rows


def cancel_current() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


@pytest.mark.parametrize("answered", [False, True], ids=["under way", "answered"])
@pytest.mark.parametrize("caller_name", FETCHING, indirect=True)
async def test_an_interrupted_verb_leaves_nothing_half_done(
    app: Duetime,
    caller: Caller,
    caller_name: str,
    answered: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await caller.close()
    kind = FETCHING[caller_name]
    for nth in range(1, 100):
        action = await app.schedule(Note(), at=LATER)
        await caller.begin()
        with monkeypatch.context() as patch:
            interrupted = partialmethod(interrupt, kind.afetch, count(1), nth, answered)
            patch.setattr(kind, "afetch", interrupted)
            call = asyncio.create_task(caller.call(app, "cancel", action.id))
            await asyncio.wait([call])
        await caller.commit()
        await caller.close()
        assert places(caller.url, action.id) == 1
        if not call.cancelled():
            break
    # The savepoint, reads, changes, and the release.
    assert nth > 4


def places(url: str, action_id: UUID) -> int:
    """Return in how many tables the action is."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM duetime_actions WHERE id = %(id)s)"
            " + (SELECT count(*) FROM duetime_history WHERE id = %(id)s)",
            {"id": action_id},
        ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.fixture
async def bank(postgres_url: str) -> AsyncIterator[Duetime]:
    async with Duetime(postgres_url, lease=5, grace=5) as app:
        app.payload(Other, kind="other")
        yield app


async def test_a_task_that_the_handler_leaves_behind_cannot_undo_its_completion(
    bank: Duetime, postgres_url: str
) -> None:
    tasks: set[asyncio.Task[Any]] = set()

    @bank.handler(kind="note", transactional=True)
    async def handle(note: Note, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("CREATE TABLE IF NOT EXISTS effects (n integer)")
        await connection.execute("INSERT INTO effects VALUES (1)")
        await bank.find()
        tasks.add(asyncio.create_task(bank.schedule(Other(), after=uuid4())))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    for _ in range(5):
        action = await bank.schedule(Note())
        async with bank.worker():
            finished = await bank.wait(action.id, timeout=20)
        assert (finished.state, finished.attempt, finished.losses) == (State.succeeded, 1, 0)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    # Refused for its missing parent before the completion, or as too late after it.
    assert {type(answer) for answer in answers} <= {ActionNotFound, ConfigError}
    assert len(answers) == 5
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM effects").fetchone() == (5,)


async def test_a_verb_after_the_completion_is_refused_with_the_remedy(bank: Duetime) -> None:
    joined: list[Any] = []

    @bank.handler(kind="note", transactional=True)
    async def handle(note: Note, connection: psycopg.AsyncConnection[Any]) -> None:
        joined.append(current_joined_store(bank.store))

    action = await bank.schedule(Note())
    async with bank.worker():
        await bank.wait(action.id, timeout=20)
    with pytest.raises(ConfigError, match="await the task inside the handler"):
        await joined[0].perform(bank.store.find(Filter()))


@pytest.mark.parametrize("caller_name", ["psycopg"], indirect=True)
@pytest.mark.parametrize("verb", ["cancel", "reschedule"])
async def test_a_key_that_passes_to_another_action_meanwhile_changes_none(
    app: Duetime, caller: Caller, verb: str
) -> None:
    """The verb finds the action by its key, waits for its lock, and then finds it cancelled."""
    first = await app.schedule(Note("1"), at=LATER, key="k")
    await caller.call(app, "cancel", first.id)
    second = await caller.call(app, "schedule", Note("2"), at=LATER, key="k")
    more = {"delay": 5} if verb == "reschedule" else {}
    call = asyncio.create_task(getattr(app, verb)(kind="note", key="k", **more))
    await until(lambda: waiting(caller.url) == 1)
    await caller.commit()
    with pytest.raises(IllegalState, match=f"{first.id}: it is cancelled"):
        await call
    stored = await app.get(kind="note", key="k")
    assert (stored.id, stored.state, stored.due_at) == (second.id, State.scheduled, LATER)
