"""A row that fails for good is notified, in the transaction that parks it."""

from __future__ import annotations

import pytest

from duetime import ANY, Duetime, Retry
from duetime.testing import FakeClock
from transitions.engines import ModelDatabase
from transitions.test_parked import Base, park


@pytest.fixture
def drafts(app: Duetime, database: ModelDatabase) -> Duetime:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, retry=Retry.none())
    return app


async def test_a_parked_row_is_notified(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    await drafts.notifications.add("transition-parked", in_app=True)
    await park(drafts, database, clock, 2)
    await drafts.testing.drain()
    [notification] = await drafts.notifications.list(tenant=ANY)
    assert (notification.topic, notification.count) == ("transition-parked", 2)
    [first, _] = sorted(notification.events, key=lambda event: str(event.data["key"]))
    assert first.data == {
        "model": "Draft",
        "column": "at",
        "key": "0",
        "error": "ValueError: not fit to print",
        "attempts": 1,
    }


async def test_a_row_that_is_tried_again_is_no_news(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, retry=Retry(attempts=3))
    await app.notifications.add("transition-parked", in_app=True)
    await park(app, database, clock, 1)
    await app.testing.drain()
    assert (await app.notifications.list(tenant=ANY)).items == []


async def test_rows_of_another_database_are_notified_too(
    database: ModelDatabase, clock: FakeClock
) -> None:
    async with Duetime("memory://", clock=clock) as app:
        database.make_tables(Base)
        app.transitions.register(Base, database.engine, retry=Retry.none(), clock=clock)
        await app.notifications.add("transition-parked", in_app=True)
        await park(app, database, clock, 1)
        await app.testing.drain()
        assert len((await app.notifications.list(tenant=ANY)).items) == 1
