"""Rows that cannot be changed are found, reported, retried and parked; other rows go on."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import ForeignKey, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates

from duetime import Duetime, Retry
from duetime.errors import SweepFailed
from duetime.model.transition import Report
from duetime.testing import FakeClock
from duetime.transitions import transition
from duetime.transitions.sweeper import SweepProgress
from transitions.engines import ModelDatabase
from transitions.models import Base as Blog
from transitions.models import Post


class Base(DeclarativeBase):
    pass


class Draft(Base):
    """A validator of the application's own refuses some of them."""

    __tablename__ = "drafts"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(default="fine")
    state: Mapped[str] = mapped_column(default="draft")
    at: Mapped[datetime | None] = transition(set_field="state", to="out")

    @validates("state")
    def fit_to_print(self, key: str, value: str) -> str:
        if value == "out" and self.text == "bad":
            raise ValueError("not fit to print")
        if value == "out" and self.text == "odd":
            raise ValueError("not fit \x00 to \ud800 keep")
        return value


BUDGET = Retry(attempts=3, delay=60, factor=2, jitter=False)


@pytest.fixture
def drafts(app: Duetime, database: ModelDatabase) -> Duetime:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, retry=BUDGET)
    return app


def out(database: ModelDatabase) -> int:
    ((count,),) = database.rows("SELECT count(*) FROM drafts WHERE state = 'out'")
    return int(count)


async def test_bad_rows_among_five_hundred_good_ones(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    bad = {0, 77, 78, 402}
    database.add(
        *(Draft(id=n, at=clock.now(), text="bad" if n in bad else "fine") for n in range(500))
    )
    report = await drafts.transitions.sweep()
    assert (report.updated, report.failed) == (496, 4)
    assert {error.id for error in report.errors} == bad
    assert {error.error for error in report.errors} == {"ValueError: not fit to print"}
    assert out(database) == 496
    with pytest.raises(SweepFailed, match=r"4 errors in a sweep: Draft\.at of 0: ValueError"):
        report.check()


async def test_tried_again_with_backoff_then_parked(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    seen = []
    for minutes in (0, 0.5, 0.5, 1, 1, 1000):
        clock.advance(minutes=minutes)
        seen += [
            (error.attempts, error.parked) for error in (await drafts.transitions.sweep()).errors
        ]
    assert seen == [(1, False), (2, False), (3, True)]
    (pending,) = await drafts.transitions.pending()
    assert (pending.due, pending.retrying, pending.parked) == (0, 0, 1)


async def test_a_row_whose_error_is_not_retried_is_parked_at_once(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, retry=Retry(delays=[60], never=ValueError))
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    (error,) = (await app.transitions.sweep()).errors
    assert (error.attempts, error.parked) == (1, True)


async def test_an_error_that_no_database_keeps(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """Its row is reported and parked like any other, and delays no other row."""
    database.add(Draft(id=1, at=clock.now(), text="odd"), Draft(id=2, at=clock.now()))
    seen = []
    for _ in range(3):
        report = await drafts.transitions.sweep()
        seen += [(error.id, error.attempts, error.error, error.parked) for error in report.errors]
        clock.advance(hours=1)
    error = "ValueError: not fit \ufffd to ? keep"
    assert seen == [(1, 1, error, False), (1, 2, error, False), (1, 3, error, True)]
    assert out(database) == 1


async def test_a_retry_is_the_next_thing_to_do(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    await drafts.transitions.sweep()
    (pending,) = await drafts.transitions.pending()
    assert (pending.next_due, pending.retrying) == (clock.now() + timedelta(minutes=1), 1)


async def test_mended_it_goes_through(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    await drafts.transitions.sweep()
    database.do("UPDATE drafts SET text = 'fine'")
    assert (await drafts.transitions.sweep()).updated == 0
    clock.advance(minutes=1)
    assert (await drafts.transitions.sweep()).updated == 1


async def test_a_new_value_starts_anew(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    for _ in range(3):
        await drafts.transitions.sweep()
        clock.advance(hours=1)
    with database.session() as session:
        session.get_one(Draft, 1).at = clock.now()
    (error,) = (await drafts.transitions.sweep()).errors
    assert error.attempts == 1


async def test_parked_rows_can_be_retried(
    drafts: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Draft(id=1, at=clock.now(), text="bad"), Draft(id=2, at=clock.now()))
    for _ in range(3):
        await drafts.transitions.sweep()
        clock.advance(hours=1)
    database.do("UPDATE drafts SET text = 'fine'")
    database.do("UPDATE drafts SET state = 'draft' WHERE id = 2")
    assert (await drafts.transitions.sweep()).updated == 0
    assert (await drafts.transitions.sweep(parked=True)).updated == 1
    assert database.rows("SELECT id FROM drafts WHERE state = 'out'") == [(1,)]


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_what_only_the_commit_refuses(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    class Own(DeclarativeBase):
        pass

    class Page(Own):
        __tablename__ = "pages"
        id: Mapped[int] = mapped_column(primary_key=True)
        state: Mapped[int] = mapped_column(
            ForeignKey("states.id", deferrable=True, initially="DEFERRED"), default=0
        )
        at: Mapped[datetime | None] = transition(set_field="state", to=1)
        refuse: Mapped[bool] = mapped_column(default=False)

    class State(Own):
        __tablename__ = "states"
        id: Mapped[int] = mapped_column(primary_key=True)

    Own.metadata.create_all(database.sync_engine)
    database.add(State(id=0))
    database.add(*(Page(id=n, at=clock.now()) for n in range(8)))
    app.transitions.register(Page, database.engine)
    report = await app.transitions.sweep()
    assert (report.updated, report.failed) == (0, 8)
    database.add(State(id=1))
    clock.advance(hours=1)
    assert (await app.transitions.sweep()).updated == 8


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_in_bulk_too(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    database.make_tables(Base)
    # A rule that the database enforces for every writer.
    if database.on_postgres:
        database.do("ALTER TABLE drafts ADD CHECK (NOT (state = 'out' AND text = 'bad'))")
    else:
        database.do(
            "CREATE TRIGGER fit BEFORE UPDATE ON drafts WHEN new.state = 'out' AND "
            "new.text = 'bad' BEGIN SELECT RAISE(ABORT, 'not fit to print'); END"
        )
    database.add(
        *(Draft(id=n, at=clock.now(), text="bad" if n == 7 else "fine") for n in range(20))
    )
    app.transitions.register(Base, database.engine, bulk=True)
    report = await app.transitions.sweep()
    assert (report.updated, [error.id for error in report.errors]) == (19, [7])


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_a_table_that_is_missing_holds_up_no_other(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register([Draft, Post], database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    report = await app.transitions.sweep()
    assert report.updated == 1
    assert [(error.model, error.id) for error in report.errors] == [("Draft", None)]
    assert "drafts" in report.errors[0].error


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_a_conflict_of_transactions_is_no_fault_of_a_row(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """No attempt is counted: the next pass tries again."""

    def conflict(session: Session, *_: Any) -> None:
        session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    app.transitions.register(Blog, database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    event.listen(Session, "before_flush", conflict)
    try:
        report = await app.transitions.sweep()
    finally:
        event.remove(Session, "before_flush", conflict)
    assert [error.id for error in report.errors] == [None]
    assert (await app.transitions.sweep()).updated == 1
    assert database.rows("SELECT attempts FROM duetime_transitions") == [(0,)]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_a_backlog_that_is_interrupted_begins_anew(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """After an error the backlog is probed again, not retried without a pause."""
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, batch=10)
    database.add(*(Draft(id=n, at=clock.now()) for n in range(30)))
    (sweeper,) = app.transitions._sweepers
    progress = SweepProgress()
    await sweeper.sweep(Report(), progress)
    assert progress.cursors
    database.do("ALTER TABLE drafts RENAME TO hidden")
    report = Report()
    await sweeper.sweep(report, progress)
    assert (len(report.errors), progress.cursors) == (1, {})
    database.do("ALTER TABLE hidden RENAME TO drafts")
    assert (await app.transitions.drain()).updated == 20


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_a_backlog_that_is_interrupted_reports_what_it_changed(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    """Several of its batches are applied in one call: what was committed stays."""
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, batch=10, bulk=bulk)
    database.add(*(Draft(id=n, at=clock.now()) for n in range(40)))
    await app.transitions.sweep()
    commits = 0

    def interrupt(session: Session) -> None:
        nonlocal commits
        commits += 1
        if commits == 3:
            raise OperationalError("", None, Exception("the connection is closed"))

    event.listen(Session, "before_commit", interrupt)
    try:
        report = await app.transitions.drain()
    finally:
        event.remove(Session, "before_commit", interrupt)
    assert (report.updated, [error.id for error in report.errors]) == (30, [None])
