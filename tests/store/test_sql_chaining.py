"""Parents that finish while another transaction is open: no child is left behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from api.apps import Note, Other
from duetime import Duetime, State
from duetime.errors import InvalidArgument
from duetime.model.actions.action import Action
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.state import Outcome
from polling import until
from store.postgres_helpers import another, lock, waiting
from store.test_sql_replay import FINISH

TAKE_KEY = """
    INSERT INTO duetime_actions (
        id, due_at, created_at, version, priority, kind, lane, queue, key, created_by, payload
    )
    VALUES (gen_random_uuid(), 0, 0, 1, 1, 'other', '1.0.x', 'x', 'k', 'me', '{}')
"""


@pytest.fixture
async def app(postgres_url: str) -> AsyncIterator[Duetime]:
    """An app that sweeps often, so that tests need not wait for what only a sweep finds."""
    async with Duetime(postgres_url, sweep=0.2, poll=0.2, lease=5, grace=5) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        yield app


async def test_a_parent_that_finishes_while_its_child_is_stored(
    app: Duetime, postgres_url: str
) -> None:
    parent = await app.schedule(Note())
    with another(postgres_url) as session:
        with session.transaction(force_rollback=True):
            session.execute(TAKE_KEY)
            scheduling = asyncio.create_task(app.schedule(Other(), after=parent, key="k"))
            await until(lambda: waiting(postgres_url))
            assert not await finish_without_settling(app)
        child = await scheduling
    assert child.due_at == (await app.get(parent.id)).finished_at


async def test_a_child_that_is_stored_while_its_parent_finishes(
    app: Duetime, postgres_url: str
) -> None:
    """Neither transaction sees the other: the next sweep sees both."""
    parent = await app.schedule(Note())
    with another(postgres_url) as session, session.transaction():
        session.execute(FINISH, (parent.id,))
        child = await app.schedule(Other(), after=parent)
    assert (await app.get(child.id)).due_at is None
    async with app.worker(), asyncio.timeout(20):
        assert (await app.wait(child.id)).state is State.succeeded


async def test_a_locked_child_delays_no_other(app: Duetime, postgres_url: str) -> None:
    parent = await app.schedule(Note(), delay=3600)
    locked, free = [await app.schedule(Other(), after=parent) for _ in range(2)]
    async with app.worker(), asyncio.timeout(20):
        with another(postgres_url) as session, session.transaction():
            lock(session, locked.id)
            await app.reschedule(parent.id, delay=0)
            assert (await app.wait(free.id)).state is State.succeeded
            assert (await app.get(locked.id)).due_at is None
        assert (await app.wait(locked.id)).state is State.succeeded


async def test_sweeps_come_round_to_children_behind_a_crowd(
    app: Duetime, postgres_url: str
) -> None:
    parent = await app.schedule(Note(), delay=3600)
    await app.schedule_many(app.request(Other(i), after=parent) for i in range(2500))
    last = await app.schedule(Note())
    child = await app.schedule(Other(), after=last)
    with another(postgres_url) as session:
        session.execute(FINISH, (last.id,))
    async with app.worker(), asyncio.timeout(20):
        assert (await app.wait(child.id)).state is State.succeeded


class TestConcurrentReplacements:
    """Concurrent transactions that replace actions, and see nothing uncommitted of each other."""

    async def test_two_calls_make_no_cycle(self, app: Duetime, postgres_url: str) -> None:
        left, right = [await app.schedule(Note(k), delay=3600, key=k) for k in "lr"]
        with another(postgres_url) as caller:
            with caller.transaction():
                wait_for(app, "l", right, caller)
                other = asyncio.create_task(asyncio.to_thread(wait_for, app, "r", left))
                await until(lambda: waiting(postgres_url))
            with pytest.raises(InvalidArgument, match="neither would ever run"):
                await other
        assert [(await app.get(action.id)).waits for action in (left, right)] == [True, False]

    async def test_two_callers_of_whom_one_rolls_back_make_no_cycle(
        self, app: Duetime, postgres_url: str
    ) -> None:
        left, right = [await app.schedule(Note(k), delay=3600, key=k) for k in "lr"]
        with another(postgres_url) as first, another(postgres_url) as second, second.transaction():
            with first.transaction(force_rollback=True):
                wait_for(app, "l", right, first)
                other = asyncio.create_task(asyncio.to_thread(wait_for, app, "r", left, second))
                await until(lambda: waiting(postgres_url))
            assert (await other).waits
        assert [(await app.get(action.id)).waits for action in (left, right)] == [False, True]

    async def test_two_calls_make_no_cycle_through_other_actions(
        self, app: Duetime, postgres_url: str
    ) -> None:
        left, right, top = [await app.schedule(Note(k), delay=3600, key=k) for k in "lrt"]
        between = await app.schedule(Other(), after=top)
        wait_for(app, "t", right)
        with another(postgres_url) as caller:
            with caller.transaction():
                wait_for(app, "l", between, caller)
                other = asyncio.create_task(asyncio.to_thread(wait_for, app, "r", left))
                await until(lambda: waiting(postgres_url))
            with pytest.raises(InvalidArgument, match="neither would ever run"):
                await other

    async def test_neither_siblings_nor_the_parent_wait_for_locks(
        self, app: Duetime, postgres_url: str
    ) -> None:
        parent = await app.schedule(Note(), key="p")
        [await app.schedule(Note(k), delay=3600, key=k) for k in "lr"]
        with another(postgres_url) as caller, caller.transaction():
            wait_for(app, "l", parent, caller)
            sibling = await asyncio.to_thread(wait_for, app, "r", parent)
            async with app.worker(), asyncio.timeout(20):
                assert (await app.wait(parent.id)).state is State.succeeded
                assert (await app.wait(sibling.id)).state is State.succeeded


def wait_for(app: Duetime, key: str, parent: Action, connection: object = None) -> Action:
    """Let the action that holds the key wait for a parent."""
    return app.sync.schedule(
        Note(key), key=key, if_exists="replace", after=parent, connection=connection
    )


async def finish_without_settling(app: Duetime) -> set[object]:
    """Act as a worker that is killed before it settles; return the parents of its completion."""
    store = app.store
    lanes = (await store.perform(store.look_ahead())).lanes
    order = ClaimOrder("w", [LaneSpan(head.lane, 0, 0) for head in lanes], 1, 60_000_000)
    [claim] = (await store.perform(store.claim(order))).claims
    finish = Finish(claim.id, claim.token, State.succeeded, Outcome.succeeded)
    return {*(await store.perform(store.complete([finish]))).parents}
