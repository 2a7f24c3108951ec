"""Rows that cannot be changed: found, told, tried again, parked; never in the way of others."""

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
from duetime.transitions.sweeper import Progress
from transitions.models import Base as Blog
from transitions.models import Post
from transitions.places import Place


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
def drafts(app: Duetime, place: Place) -> Duetime:
    place.make_tables(Base)
    app.transitions.register(Base, place.engine, retry=BUDGET)
    return app


def out(place: Place) -> int:
    ((count,),) = place.rows("SELECT count(*) FROM drafts WHERE state = 'out'")
    return int(count)


async def test_bad_rows_among_five_hundred_good_ones(
    drafts: Duetime, place: Place, clock: FakeClock
) -> None:
    bad = {0, 77, 78, 402}
    place.add(
        *(Draft(id=n, at=clock.now(), text="bad" if n in bad else "fine") for n in range(500))
    )
    report = await drafts.transitions.sweep()
    assert (report.updated, report.failed) == (496, 4)
    assert {error.id for error in report.errors} == bad
    assert {error.error for error in report.errors} == {"ValueError: not fit to print"}
    assert out(place) == 496
    with pytest.raises(SweepFailed, match=r"4 errors in a sweep: Draft\.at of 0: ValueError"):
        report.check()


async def test_tried_again_with_backoff_then_parked(
    drafts: Duetime, place: Place, clock: FakeClock
) -> None:
    place.add(Draft(id=1, at=clock.now(), text="bad"))
    seen = []
    for minutes in (0, 0.5, 0.5, 1, 1, 1000):
        clock.advance(minutes=minutes)
        seen += [(one.attempts, one.parked) for one in (await drafts.transitions.sweep()).errors]
    assert seen == [(1, False), (2, False), (3, True)]
    (pending,) = await drafts.transitions.pending()
    assert (pending.due, pending.retrying, pending.parked) == (0, 0, 1)


async def test_an_error_that_no_database_keeps(
    drafts: Duetime, place: Place, clock: FakeClock
) -> None:
    """Its row is told of and parked like any other, and holds up none."""
    place.add(Draft(id=1, at=clock.now(), text="odd"), Draft(id=2, at=clock.now()))
    seen = []
    for _ in range(3):
        report = await drafts.transitions.sweep()
        seen += [(one.id, one.attempts, one.error, one.parked) for one in report.errors]
        clock.advance(hours=1)
    told = "ValueError: not fit \ufffd to ? keep"
    assert seen == [(1, 1, told, False), (1, 2, told, False), (1, 3, told, True)]
    assert out(place) == 1


async def test_a_retry_is_the_next_thing_to_do(
    drafts: Duetime, place: Place, clock: FakeClock
) -> None:
    place.add(Draft(id=1, at=clock.now(), text="bad"))
    await drafts.transitions.sweep()
    (pending,) = await drafts.transitions.pending()
    assert (pending.next_due, pending.retrying) == (clock.now() + timedelta(minutes=1), 1)


async def test_mended_it_goes_through(drafts: Duetime, place: Place, clock: FakeClock) -> None:
    place.add(Draft(id=1, at=clock.now(), text="bad"))
    await drafts.transitions.sweep()
    place.do("UPDATE drafts SET text = 'fine'")
    assert (await drafts.transitions.sweep()).updated == 0
    clock.advance(minutes=1)
    assert (await drafts.transitions.sweep()).updated == 1


async def test_a_new_value_starts_anew(drafts: Duetime, place: Place, clock: FakeClock) -> None:
    place.add(Draft(id=1, at=clock.now(), text="bad"))
    for _ in range(3):
        await drafts.transitions.sweep()
        clock.advance(hours=1)
    with place.session() as session:
        session.get_one(Draft, 1).at = clock.now()
    (error,) = (await drafts.transitions.sweep()).errors
    assert error.attempts == 1


async def test_parked_rows_can_be_asked_for(
    drafts: Duetime, place: Place, clock: FakeClock
) -> None:
    place.add(Draft(id=1, at=clock.now(), text="bad"), Draft(id=2, at=clock.now()))
    for _ in range(3):
        await drafts.transitions.sweep()
        clock.advance(hours=1)
    place.do("UPDATE drafts SET text = 'fine'")
    place.do("UPDATE drafts SET state = 'draft' WHERE id = 2")
    assert (await drafts.transitions.sweep()).updated == 0
    assert (await drafts.transitions.sweep(parked=True)).updated == 1
    assert place.rows("SELECT id FROM drafts WHERE state = 'out'") == [(1,)]


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_what_only_the_commit_refuses(app: Duetime, place: Place, clock: FakeClock) -> None:
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

    Own.metadata.create_all(place.aside)
    place.add(State(id=0))
    place.add(*(Page(id=n, at=clock.now()) for n in range(8)))
    app.transitions.register(Page, place.engine)
    report = await app.transitions.sweep()
    assert (report.updated, report.failed) == (0, 8)
    place.add(State(id=1))
    clock.advance(hours=1)
    assert (await app.transitions.sweep()).updated == 8


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_in_bulk_too(app: Duetime, place: Place, clock: FakeClock) -> None:
    place.make_tables(Base)
    # A rule that the database keeps, whoever changes rows.
    if place.on_postgres:
        place.do("ALTER TABLE drafts ADD CHECK (NOT (state = 'out' AND text = 'bad'))")
    else:
        place.do(
            "CREATE TRIGGER fit BEFORE UPDATE ON drafts WHEN new.state = 'out' AND "
            "new.text = 'bad' BEGIN SELECT RAISE(ABORT, 'not fit to print'); END"
        )
    place.add(*(Draft(id=n, at=clock.now(), text="bad" if n == 7 else "fine") for n in range(20)))
    app.transitions.register(Base, place.engine, bulk=True)
    report = await app.transitions.sweep()
    assert (report.updated, [error.id for error in report.errors]) == (19, [7])


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_a_table_that_is_missing_holds_up_no_other(
    app: Duetime, place: Place, clock: FakeClock
) -> None:
    app.transitions.register([Draft, Post], place.engine)
    place.add(Post(id=1, publish_at=clock.now()))
    report = await app.transitions.sweep()
    assert report.updated == 1
    assert [(one.model, one.id) for one in report.errors] == [("Draft", None)]
    assert "drafts" in report.errors[0].error


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_a_conflict_of_transactions_is_no_fault_of_a_row(
    app: Duetime, place: Place, clock: FakeClock
) -> None:
    """It costs no attempt: the next pass tries again."""

    def conflict(session: Session, *_: Any) -> None:
        session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    app.transitions.register(Blog, place.engine)
    place.add(Post(id=1, publish_at=clock.now()))
    event.listen(Session, "before_flush", conflict)
    try:
        report = await app.transitions.sweep()
    finally:
        event.remove(Session, "before_flush", conflict)
    assert [error.id for error in report.errors] == [None]
    assert (await app.transitions.sweep()).updated == 1
    assert place.rows("SELECT attempts FROM duetime_transitions") == [(0,)]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_a_backlog_that_is_interrupted_begins_anew(
    app: Duetime, place: Place, clock: FakeClock
) -> None:
    """What fails in the middle of it is looked at again, not asked for without a pause."""
    place.make_tables(Base)
    app.transitions.register(Base, place.engine, batch=10)
    place.add(*(Draft(id=n, at=clock.now()) for n in range(30)))
    (sweeper,) = app.transitions._sweepers
    progress = Progress()
    await sweeper.sweep(Report(), progress)
    assert progress.cursors
    place.do("ALTER TABLE drafts RENAME TO hidden")
    report = Report()
    await sweeper.sweep(report, progress)
    assert (len(report.errors), progress.cursors) == (1, {})
    place.do("ALTER TABLE hidden RENAME TO drafts")
    assert (await app.transitions.drain()).updated == 20


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_a_backlog_that_is_interrupted_tells_of_what_it_changed(
    app: Duetime, place: Place, clock: FakeClock, bulk: bool
) -> None:
    """Several of its batches are worked off in one go: what was committed stays."""
    place.make_tables(Base)
    app.transitions.register(Base, place.engine, batch=10, bulk=bulk)
    place.add(*(Draft(id=n, at=clock.now()) for n in range(40)))
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
