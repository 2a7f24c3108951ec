"""Events of changes in a caller's transaction are emitted after its commit, or never."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy.orm import Session

from api.apps import Note
from duetime import Duetime
from duetime.events.types import ActionCancelled, ActionEvent, ActionRescheduled
from joining.callers import CALLERS, REPORTS_COMMITS, Caller

LATER = datetime(2099, 1, 1, tzinfo=UTC)
REPORTS_NOTHING = [name for name in CALLERS if name not in REPORTS_COMMITS]


@pytest.fixture
def events(app: Duetime) -> asyncio.Queue[ActionEvent]:
    queue: asyncio.Queue[ActionEvent] = asyncio.Queue()
    for type_ in (ActionCancelled, ActionRescheduled):
        app.on(type_, queue.put_nowait)
    return queue


async def next_event(events: asyncio.Queue[ActionEvent]) -> ActionEvent:
    return await asyncio.wait_for(events.get(), 5)


@pytest.mark.parametrize("caller_name", REPORTS_COMMITS, indirect=True)
class TestEmitting:
    async def test_events_are_emitted_after_the_commit(
        self, app: Duetime, caller: Caller, events: asyncio.Queue[ActionEvent]
    ) -> None:
        action = await app.schedule(Note(), at=LATER)
        await caller.call(app, "cancel", action.id, by="ann")
        assert events.empty()
        await caller.commit()
        event = await next_event(events)
        assert (type(event), event.action_id, event.by) == (ActionCancelled, action.id, "ann")

    async def test_a_rollback_drops_the_events(
        self, app: Duetime, caller: Caller, events: asyncio.Queue[ActionEvent]
    ) -> None:
        first, second = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
        await caller.call(app, "cancel", first.id)
        await caller.rollback()
        await caller.close()
        await caller.begin()
        await caller.call(app, "cancel", second.id)
        await caller.commit()
        assert (await next_event(events)).action_id == second.id
        assert events.empty()

    async def test_each_transaction_emits_its_own_events(
        self, app: Duetime, caller: Caller, events: asyncio.Queue[ActionEvent]
    ) -> None:
        first, second = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
        await caller.call(app, "cancel", first.id)
        await caller.commit()
        assert (await next_event(events)).action_id == first.id
        await caller.close()
        await caller.begin()
        await caller.call(app, "cancel", second.id)
        await caller.commit()
        assert (await next_event(events)).action_id == second.id
        assert events.empty()


@pytest.mark.parametrize("caller_name", ["Session-psycopg", "Session-sqlite"], indirect=True)
async def test_a_savepoint_that_is_rolled_back_drops_its_events(
    app: Duetime, caller: Caller, events: asyncio.Queue[ActionEvent]
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
    assert {(await next_event(events)).action_id, (await next_event(events)).action_id} == {
        kept.id,
        last.id,
    }
    assert events.empty()


@pytest.mark.parametrize("caller_name", REPORTS_NOTHING, indirect=True)
async def test_a_connection_that_does_not_report_commits_emits_nothing(
    app: Duetime, caller: Caller, events: asyncio.Queue[ActionEvent]
) -> None:
    first, second = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
    await caller.call(app, "cancel", first.id)
    await caller.commit()
    await app.cancel(second.id)
    assert (await next_event(events)).action_id == second.id
    assert events.empty()
