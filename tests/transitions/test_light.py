"""An app without transitions pays nothing, and tests move their time along."""

import subprocess
import sys
from datetime import timedelta

import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from transitions.engines import ModelDatabase
from transitions.models import Base, Order, Post, Ticket
from transitions.reminders import Base as Visits
from transitions.reminders import Remind, Visit

LIGHT = """
import asyncio, sys
from duetime import Duetime

async def main():
    async with Duetime("memory://") as app, app.worker():
        await app.testing.drain()
    found = [name for name in sys.modules if name.startswith(("sqlalchemy", "duetime.transitions"))]
    assert not found, found

asyncio.run(main())
"""


def test_an_app_without_transitions_does_not_import_them() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


def test_a_base_without_transitions_starts_nothing(app: Duetime) -> None:
    assert app.transitions.companions == []
    assert app.transitions.list() == []


@pytest.mark.parametrize("kind", ["pysqlite", "asyncpg"])
async def test_advance_applies_them_on_the_way(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Base, database.engine)
    now = clock.now()
    database.add(Post(id=1, publish_at=now + timedelta(days=1), archive_at=now + timedelta(days=3)))
    await app.testing.advance(days=2)
    assert database.rows("SELECT status FROM posts") == [("published",)]
    await app.testing.advance(days=2)
    assert database.rows("SELECT status FROM posts") == [("archived",)]


@pytest.mark.parametrize("kind", ["pysqlite", "asyncpg"])
async def test_advance_runs_their_actions(
    same_database_app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Visits)
    reminded: list[int] = []

    @same_database_app.handler(kind="remind")
    async def remind(payload: Remind) -> None:
        reminded.append(payload.visit)

    same_database_app.transitions.register(Visits, database.engine)
    database.add(Visit(id=1, remind_at=clock.now() + timedelta(days=1)))
    assert await same_database_app.testing.advance(days=2) == 1
    assert reminded == [1]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_lines_of_rows_that_are_gone_are_pruned(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    naive = clock.now().replace(tzinfo=None)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(600)))
    database.add(*(Order(group=group, number=1, when=naive) for group in ("a", "b:1", "é")))
    database.add(*(Ticket(state="open", close_at=clock.now()) for _ in range(3)))
    app.transitions.register(Base, database.engine, batch=1000)
    await app.transitions.sweep()
    database.do("DELETE FROM posts WHERE id >= 300")
    database.do("""DELETE FROM "order" WHERE "group" <> 'b:1'""")
    database.do("DELETE FROM tickets")
    (sweeper,) = app.transitions._sweepers
    for _ in range(2):
        await sweeper.clean_ledger()
    left = database.rows("SELECT table_name, count(*) FROM duetime_transitions GROUP BY table_name")
    assert dict(left) == {"posts": 300, "order": 1}
    assert (await app.transitions.sweep()).changed == 0
