"""Events and counts of what happened in a caller's transaction: after its commit, or never."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy.orm import Session

from api.apps import Note
from duetime import Duetime
from duetime.events.types import ActionCancelled, ActionEvent, ActionRescheduled
from joining.callers import CALLERS, TELLING, Caller

LATER = datetime(2099, 1, 1, tzinfo=UTC)
SILENT = [name for name in CALLERS if name not in TELLING]


@pytest.fixture
def told(app: Duetime) -> asyncio.Queue[ActionEvent]:
    queue: asyncio.Queue[ActionEvent] = asyncio.Queue()
    for type_ in (ActionCancelled, ActionRescheduled):
        app.on(type_, queue.put_nowait)
    return queue


async def soon(told: asyncio.Queue[ActionEvent]) -> ActionEvent:
    return await asyncio.wait_for(told.get(), 5)


@pytest.mark.parametrize("caller_name", TELLING, indirect=True)
class TestTelling:
    async def test_subscribers_hear_of_it_after_the_commit(
        self, app: Duetime, caller: Caller, told: asyncio.Queue[ActionEvent]
    ) -> None:
        action = await app.schedule(Note(), at=LATER)
        await caller.call(app, "cancel", action.id, by="ann")
        assert told.empty()
        await caller.commit()
        event = await soon(told)
        assert (type(event), event.action_id, event.by) == (ActionCancelled, action.id, "ann")

    async def test_and_not_of_what_was_rolled_back(
        self, app: Duetime, caller: Caller, told: asyncio.Queue[ActionEvent]
    ) -> None:
        one, two = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
        await caller.call(app, "cancel", one.id)
        await caller.rollback()
        await caller.close()
        await caller.begin()
        await caller.call(app, "cancel", two.id)
        await caller.commit()
        assert (await soon(told)).action_id == two.id
        assert told.empty()

    async def test_each_transaction_tells_its_own(
        self, app: Duetime, caller: Caller, told: asyncio.Queue[ActionEvent]
    ) -> None:
        one, two = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
        await caller.call(app, "cancel", one.id)
        await caller.commit()
        assert (await soon(told)).action_id == one.id
        await caller.close()
        await caller.begin()
        await caller.call(app, "cancel", two.id)
        await caller.commit()
        assert (await soon(told)).action_id == two.id
        assert told.empty()


@pytest.mark.parametrize("caller_name", ["Session-psycopg", "Session-sqlite"], indirect=True)
async def test_what_a_savepoint_takes_back_is_not_told(
    app: Duetime, caller: Caller, told: asyncio.Queue[ActionEvent]
) -> None:
    gone, kept, last = await app.schedule_many([(Note(), LATER)] * 3)
    session: Session = caller.connection
    with session.begin_nested() as savepoint:
        app.sync.cancel(gone.id, connection=session)
        savepoint.rollback()
    with session.begin_nested():
        app.sync.cancel(kept.id, connection=session)
    app.sync.cancel(last.id, connection=session)
    session.commit()
    assert {(await soon(told)).action_id, (await soon(told)).action_id} == {kept.id, last.id}
    assert told.empty()


@pytest.mark.parametrize("caller_name", SILENT, indirect=True)
async def test_a_connection_that_tells_nobody_of_its_commit_emits_nothing(
    app: Duetime, caller: Caller, told: asyncio.Queue[ActionEvent]
) -> None:
    one, two = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
    await caller.call(app, "cancel", one.id)
    await caller.commit()
    await app.cancel(two.id)
    assert (await soon(told)).action_id == two.id
    assert told.empty()
