"""Middleware around transactional handlers: inside the transaction, on the loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator

import psycopg
import pytest

from api.apps import Note, Other
from duetime import CallNext, Cancel, Context, Duetime, Retry, State
from duetime.errors import ActionNotFound
from joining.transaction_kinds import (
    INSERT,
    KINDS,
    ON_SQLITE,
    HandlerTransaction,
    Kind,
    count_notes,
    make_notes,
)
from polling import until

MARK = contextvars.ContextVar("mark", default="none")


@pytest.fixture(params=KINDS)
def kind_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def kind(kind_name: str) -> AsyncIterator[Kind]:
    kind = Kind(*KINDS[kind_name])
    yield kind
    await kind.close()


@pytest.fixture
def kind_url(request: pytest.FixtureRequest, kind_name: str) -> str:
    if kind_name in ON_SQLITE:
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def bank(kind: Kind, kind_url: str) -> AsyncIterator[Duetime]:
    """An app whose handlers get their transaction from `kind`, beside a table of notes."""
    app = Duetime(kind_url, sessions=kind.sessions(kind_url), lease=5, grace=5)
    app.payload(Other, kind="other")
    await app.find()
    make_notes(kind_url)
    async with app:
        yield app


def insert_note(kind: Kind, app: Duetime) -> None:
    async def work(tx: HandlerTransaction) -> str:
        await tx.execute(INSERT)
        return f"{MARK.get()} in {'a thread' if kind.blocking else 'the loop'}"

    kind.declare(app, work, retry=Retry.none())


async def test_what_middleware_schedules_joins_the_transaction(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    seen: list[tuple[int, bool]] = []
    followed = []

    @bank.middleware
    async def follow_up(ctx: Context, call_next: CallNext) -> object:
        MARK.set(ctx.kind)
        result = await call_next()
        followed.append(await bank.schedule(Other(7), delay=3600))
        assert (await bank.get(followed[0].id)).payload == Other(7)
        assert threading.current_thread() is threading.main_thread()
        # Other connections see none of this yet.
        seen.append((count_notes(kind_url), await is_seen_outside(kind_url, followed[0].id)))
        return result

    insert_note(kind, bank)
    async with bank.worker():
        action = await bank.schedule(Note())
        done = await bank.wait(action.id, timeout=20)
    where = "a thread" if kind.blocking else "the loop"
    assert (done.state, done.result) == (State.succeeded, f"note in {where}")
    assert (seen, count_notes(kind_url)) == ([(0, False)], 1)
    assert (await bank.get(followed[0].id)).payload == Other(7)


async def is_seen_outside(url: str, action_id: object) -> bool:
    """Return whether another app sees the action, without our current transaction."""

    async def ask() -> bool:
        async with Duetime(url) as other:
            other.payload(Other, kind="other")
            try:
                await other.get(action_id)  # type: ignore[arg-type]
            except ActionNotFound:
                return False
            return True

    return await asyncio.get_running_loop().create_task(ask(), context=contextvars.Context())


@pytest.mark.parametrize("how", ["raise", "raise Cancel", "never call on"])
async def test_an_error_of_middleware_rolls_all_of_it_back(
    bank: Duetime, kind: Kind, kind_url: str, how: str
) -> None:
    followed = []

    @bank.middleware
    async def broken(ctx: Context, call_next: CallNext) -> object:
        followed.append(await bank.schedule(Other(1)))
        if how == "never call on":
            return "skipped"
        await call_next()
        raise Cancel("after all") if how == "raise Cancel" else ValueError("after all")

    insert_note(kind, bank)
    async with bank.worker():
        action = await bank.schedule(Note())
        done = await bank.wait(action.id, timeout=20)
    assert done.state is (State.cancelled if how == "raise Cancel" else State.failed)
    assert count_notes(kind_url) == 0
    with pytest.raises(ActionNotFound):
        await bank.get(followed[0].id)


async def test_a_signal_returned_by_middleware_commits(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    @bank.middleware
    async def cancel(ctx: Context, call_next: CallNext) -> object:
        await call_next()
        return Cancel("enough")

    insert_note(kind, bank)
    async with bank.worker():
        action = await bank.schedule(Note())
        done = await bank.wait(action.id, timeout=20)
    assert (done.state, done.error) == (State.cancelled, "enough")
    assert count_notes(kind_url) == 1


@pytest.mark.parametrize("kind_name", ["psycopg", "Session-psycopg"])
async def test_runs_whose_middleware_waits_for_each_others_locks_leave_the_loop_free(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    """The middleware of one run has locked a row; that of another waits for the lock. The first run
    commits on the loop, so the second must not wait there."""
    shared = await bank.schedule(Other(1), delay=3600)
    first: list[Context] = []
    locked = asyncio.Event()

    @bank.middleware
    async def move(ctx: Context, call_next: CallNext) -> object:
        if first:
            await locked.wait()
            await bank.reschedule(shared.id, delay=7200)
            return await call_next()
        first.append(ctx)
        await bank.reschedule(shared.id, delay=5400)
        locked.set()
        await until(lambda: waits_for_a_lock(kind_url))
        return await call_next()

    insert_note(kind, bank)
    async with bank.worker():
        actions = [await bank.schedule(Note()) for _ in range(2)]
        done = [await bank.wait(action.id, timeout=20) for action in actions]
    assert [action.state for action in done] == [State.succeeded] * 2
    assert count_notes(kind_url) == 2


async def waits_for_a_lock(url: str) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with await psycopg.AsyncConnection.connect(url) as connection:
        row = await (await connection.execute(query)).fetchone()
        assert row is not None
        return bool(row[0])


@pytest.mark.parametrize("kind_name", ["sqlite3", "Session-sqlite", "psycopg", "Session-psycopg"])
async def test_many_sync_handlers_at_once(bank: Duetime, kind: Kind, kind_url: str) -> None:
    """More runs than a thread pool would have threads."""

    @bank.middleware
    async def around(ctx: Context, call_next: CallNext) -> object:
        await asyncio.sleep(0)
        return await call_next()

    insert_note(kind, bank)
    actions = await bank.schedule_many([bank.request(Note()) for _ in range(60)])
    async with bank.worker(concurrency=8):
        done = [await bank.wait(action.id, timeout=30) for action in actions]
    assert {action.state for action in done} == {State.succeeded}
    assert count_notes(kind_url) == 60
