"""A drain leaves nothing that is due, and comes to an end."""

import asyncio
from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from duetime import Duetime, Retry
from duetime.testing import FakeClock
from duetime.transitions import transition
from transitions.engines import ON_POSTGRES, ModelDatabase
from transitions.models import Post
from transitions.test_running import BLOCKING

MINUTE = timedelta(minutes=1)


class Base(DeclarativeBase):
    pass


class Paper(Base):
    """The second step is declared first."""

    __tablename__ = "papers"
    id: Mapped[int] = mapped_column(primary_key=True)
    bad: Mapped[bool] = mapped_column(default=False)
    state: Mapped[str] = mapped_column(default="draft")
    archive_at: Mapped[datetime | None] = transition(
        set_field="state", from_="published", to="archived"
    )
    publish_at: Mapped[datetime | None] = transition(
        set_field="state", from_="draft", to="published"
    )

    @validates("state")
    def fit_to_print(self, key: str, value: str) -> str:
        if value == "published" and self.bad:
            raise ValueError("not fit to print")
        return value


@pytest.fixture
def papers(app: Duetime, database: ModelDatabase) -> Duetime:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, batch=2)
    return app


async def test_a_chain_that_is_declared_in_the_other_order(
    papers: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    now = clock.now()
    database.add(*(Paper(id=n, publish_at=now - MINUTE, archive_at=now) for n in range(2)))
    assert (await papers.transitions.drain()).updated == 4
    assert [target.due for target in await papers.transitions.pending()] == [0, 0]


async def test_parked_rows_are_tried_once(
    papers: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """However many of them fail again, and however long the backlog of another transition is."""
    now = clock.now()
    database.add(*(Paper(id=n, publish_at=now, bad=True) for n in range(5)))
    database.add(*(Paper(id=n, state="published", archive_at=now) for n in range(10, 30)))
    await papers.transitions.sweep()
    async with asyncio.timeout(20):
        report = await papers.transitions.drain(parked=True)
    assert (report.updated, report.failed) == (18, 5)
    tried = database.rows("SELECT attempts FROM duetime_transitions WHERE applied_at IS NULL")
    assert sorted(attempt[0] for attempt in tried) == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", ON_POSTGRES)
async def test_a_batch_that_only_the_commit_refuses_holds_up_no_backlog(
    papers: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.id < 2 THEN RAISE EXCEPTION 'no'; END IF; RETURN NULL; END $$"
    )
    database.do(
        "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON papers DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    now = clock.now() - MINUTE
    database.add(*(Paper(id=n, publish_at=now + timedelta(seconds=n)) for n in range(6)))
    report = await papers.transitions.drain()
    assert (report.updated, report.failed, report.truncated) == (4, 2, False)


@pytest.mark.parametrize("kind", BLOCKING)
def test_from_a_foreign_queue(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    app.transitions.register(Post, database.engine, batch=2)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(7)))
    assert app.sync.transitions.sweep().updated == 2
    assert app.sync.transitions.drain().check().updated == 5


@pytest.mark.parametrize("kind", ON_POSTGRES)
async def test_what_was_undone_or_parked_stays_so_in_the_midst_of_a_backlog(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    def posts(*ids: int) -> list[Post]:
        return [Post(id=n, publish_at=clock.now() - MINUTE + timedelta(seconds=n)) for n in ids]

    database.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no'; END $$"
    )
    database.do(
        "CREATE TRIGGER refuse BEFORE UPDATE ON posts FOR EACH ROW WHEN (NEW.id IN (10, 11)) "
        "EXECUTE FUNCTION refuse()"
    )
    app.transitions.register(Post, database.engine, batch=2, bulk=True, retry=Retry.none())
    database.add(*posts(*range(6, 12)))
    report = await app.transitions.drain()
    assert (report.updated, report.failed) == (4, 2)
    database.do("UPDATE posts SET status = 'draft' WHERE id < 10")
    database.add(*posts(*range(6), *range(12, 20)))
    report = await app.transitions.drain()
    assert (report.updated, report.failed, report.skipped) == (14, 0, 0)
    drafts = database.rows("SELECT id FROM posts WHERE status = 'draft' ORDER BY id")
    assert [id for (id,) in drafts] == [6, 7, 8, 9, 10, 11]
