"""Registered transitions of a module-level app inside `app.testing.override`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duetime import Duetime, TransitionApplied
from duetime.errors import ConfigError
from duetime.testing import FakeClock
from transitions import reminders
from transitions.engines import ModelDatabase
from transitions.reminders import Remind, Visit

START = datetime(2040, 1, 1, tzinfo=UTC)
WATCHED = START + timedelta(days=2)


@pytest.fixture
def kind() -> str:
    return "pysqlite"


@pytest.fixture
def shop(database: ModelDatabase, database_url: str) -> Duetime:
    """An app in real time, registered where the models are."""
    database.make_tables(reminders.Base)
    app = Duetime(database_url)
    app.payload(Remind, kind="remind")
    app.transitions.register(reminders.Base, database.engine)
    return app


async def test_transitions_follow_the_clock_and_the_store(
    shop: Duetime, database: ModelDatabase, database_url: str
) -> None:
    applied: list[TransitionApplied] = []
    shop.on(TransitionApplied, applied.append)
    database.add(Visit(id=1, remind_at=WATCHED))
    assert (await shop.testing.drain()) == 0
    with shop.testing.override(clock=FakeClock(START), url=database_url) as app:
        assert await app.transitions.next_due() == WATCHED
        await app.testing.advance(days=1)
        await app.testing.assert_not_scheduled(Remind)
        await app.testing.advance(days=1)
        await app.testing.assert_scheduled(Remind(1), at=WATCHED)
    assert [event.due_at for event in applied] == [WATCHED]
    await shop.aclose()


async def test_a_runner_inside_wakes_with_the_clock(
    shop: Duetime, database: ModelDatabase, database_url: str
) -> None:
    clock = FakeClock(START)
    database.add(Visit(id=1, remind_at=WATCHED))
    with shop.testing.override(clock=clock, url=database_url) as app:
        async with app.worker():
            clock.set(WATCHED)
            while not await app.testing.scheduled(Remind):
                pass
    await shop.aclose()


async def test_actions_of_rows_need_a_store_in_their_database(
    shop: Duetime, database: ModelDatabase, database_url: str
) -> None:
    """Also if the app's own store was checked before."""
    database.add(Visit(id=1, remind_at=WATCHED))
    await shop.transitions.sweep()
    with (
        pytest.raises(ConfigError, match="MemoryStore cannot join"),
        shop.testing.override(clock=FakeClock(WATCHED)) as app,
    ):
        await app.testing.drain()
    with shop.testing.override(clock=FakeClock(WATCHED), url=database_url) as app:
        await app.testing.drain()
        await app.testing.assert_scheduled(Remind(1))
    await shop.aclose()


async def test_a_clock_that_was_registered_stays(database: ModelDatabase, tmp_path: Path) -> None:
    database.make_tables(reminders.Base)
    app, own = Duetime(database.url), FakeClock(START)
    app.payload(Remind, kind="remind")
    app.transitions.register(reminders.Base, database.engine, clock=own)
    database.add(Visit(id=1, remind_at=WATCHED))
    with app.testing.override(clock=FakeClock(WATCHED), url=database.url):
        await app.testing.drain()
        await app.testing.assert_not_scheduled(Remind)
    await app.aclose()


async def test_entering_while_a_runner_runs_is_refused(shop: Duetime) -> None:
    async with shop.transitions.runner():
        with (
            pytest.raises(ConfigError, match="while the app runs TransitionRunner"),
            shop.testing.override(),
        ):
            pass
    with shop.testing.override():
        pass
    await shop.aclose()
