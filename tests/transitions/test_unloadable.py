"""A row that cannot be loaded, or that is locked, delays no other row."""

import asyncio
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Enum, ForeignKey, event, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import transition
from transitions.engines import ON_POSTGRES, ModelDatabase

postgres = pytest.mark.parametrize("kind", ON_POSTGRES)


class Base(DeclarativeBase):
    pass


class Tone(enum.Enum):
    calm = "calm"
    loud = "loud"


class Note(Base):
    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str] = mapped_column(default="note")
    tone: Mapped[Tone] = mapped_column(
        Enum(Tone, native_enum=False, create_constraint=False, length=9), default=Tone.calm
    )
    state: Mapped[str] = mapped_column(default="draft")
    at: Mapped[datetime | None] = transition(set_field="state", from_="draft", to="out")
    purge_at: Mapped[datetime | None] = transition(hard_delete=True)
    __mapper_args__ = {"polymorphic_on": "type", "polymorphic_identity": "note"}


class Reply(Base):
    __tablename__ = "replies"
    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[int] = mapped_column(ForeignKey("notes.id", ondelete="CASCADE"))


@pytest.fixture
def notes(app: Duetime, database: ModelDatabase, clock: FakeClock) -> Duetime:
    database.make_tables(Base)
    database.add(*(Note(id=n, at=clock.now()) for n in range(10)))
    app.transitions.register(Base, database.engine)
    return app


def out(database: ModelDatabase) -> int:
    ((count,),) = database.rows("SELECT count(*) FROM notes WHERE state = 'out'")
    return int(count)


SPOILT = {
    "no such member": "UPDATE notes SET tone = 'merry' WHERE id = 7",
    "no such class": "UPDATE notes SET type = 'tune' WHERE id = 7",
}


@pytest.mark.parametrize("sql", SPOILT.values(), ids=SPOILT)
async def test_a_row_that_cannot_be_loaded_is_reported_alone(
    notes: Duetime, database: ModelDatabase, sql: str
) -> None:
    database.do(sql)
    report = await notes.transitions.sweep()
    assert (report.updated, [(error.id, error.attempts) for error in report.errors]) == (
        9,
        [(7, 1)],
    )
    assert out(database) == 9
    assert (await notes.transitions.sweep()).errors == []


@postgres
async def test_a_time_without_end_beside_the_due_time(
    notes: Duetime, database: ModelDatabase
) -> None:
    """Some drivers cannot read it."""
    database.do("UPDATE notes SET purge_at = 'infinity' WHERE id = 7")
    report = await notes.transitions.sweep()
    assert report.updated + report.failed == 10
    assert {error.id for error in report.errors} <= {7}


async def test_a_listener_that_refuses_to_load(notes: Duetime, database: ModelDatabase) -> None:
    def loaded(note: Note, _: object) -> None:
        if note.id == 7:
            raise ValueError("not this one")

    event.listen(Note, "load", loaded)
    try:
        report = await notes.transitions.sweep()
    finally:
        event.remove(Note, "load", loaded)
    assert (report.updated, [error.id for error in report.errors]) == (9, [7])


def refuse_seven(database: ModelDatabase, code: str) -> None:
    database.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.id = 7 AND NEW.state = 'out' THEN "
        f"RAISE EXCEPTION 'note 7 is still open' USING ERRCODE = '{code}'; "
        "END IF; RETURN NEW; END $$"
    )
    database.do(
        "CREATE TRIGGER refuse BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION refuse()"
    )


@postgres
@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize(
    ("code", "failed", "skipped"), [("55000", 1, 0), ("57014", 0, 1), ("55P03", 0, 1)]
)
async def test_a_trigger_that_refuses_one_row(
    app: Duetime,
    database: ModelDatabase,
    clock: FakeClock,
    code: str,
    failed: int,
    skipped: int,
    bulk: bool,
) -> None:
    """Whatever code it gives: what sounds like a lock or a cancelled statement costs no attempt."""
    database.make_tables(Base)
    database.add(*(Note(id=n, at=clock.now()) for n in range(10)))
    refuse_seven(database, code)
    app.transitions.register(Base, database.engine, bulk=bulk)
    for _ in range(2):
        report = await app.transitions.sweep()
        assert len(report.errors) == failed
        assert (report.failed, report.skipped) == (failed, skipped)
        failed = 0
    assert out(database) == 9


@contextmanager
def locked_by_another(database: ModelDatabase, sql: str) -> Iterator[Any]:
    with database.sync_engine.begin() as other:
        other.execute(text(sql))
        yield other


@postgres
@pytest.mark.parametrize("bulk", [False, True])
async def test_a_lock_on_something_else_that_a_row_needs(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    """Deleting a note deletes its replies, one of which is locked."""
    database.make_tables(Base)
    database.add(*(Note(id=n, purge_at=clock.now()) for n in range(5)), Note(id=9, at=clock.now()))
    database.add(Reply(id=1, note=3))
    app.transitions.register(Base, database.engine, bulk=bulk)
    with locked_by_another(database, "SELECT 1 FROM replies WHERE id = 1 FOR UPDATE"):
        report = await app.transitions.sweep()
    assert (report.deleted, report.updated, report.skipped) == (4, 1, 1)
    assert report.errors == []
    assert (await app.transitions.sweep()).deleted == 1


@postgres
async def test_a_lock_on_something_else_in_the_midst_of_a_backlog(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)
    database.add(*(Note(id=n, purge_at=clock.now()) for n in range(7)))
    database.add(Reply(id=1, note=3))
    app.transitions.register(Base, database.engine, bulk=True, batch=2)
    with locked_by_another(database, "SELECT 1 FROM replies WHERE id = 1 FOR UPDATE"):
        async with asyncio.timeout(20):
            report = await app.transitions.drain()
    assert (report.deleted, report.errors) == (6, [])
    assert (await app.transitions.drain()).deleted == 1


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_a_lock_on_the_whole_table_holds_up_no_other(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)

    class Own(DeclarativeBase):
        pass

    class Song(Own):
        __tablename__ = "songs"
        id: Mapped[int] = mapped_column(primary_key=True)
        sung: Mapped[bool] = mapped_column(default=False)
        at: Mapped[datetime | None] = transition(set_field="sung", to=True)

    Own.metadata.create_all(database.sync_engine)
    database.add(Note(id=1, at=clock.now()), Song(id=1, at=clock.now()))
    app.transitions.register([Note, Song], database.engine)
    await app.transitions.pending()
    with locked_by_another(database, "LOCK TABLE notes IN ACCESS EXCLUSIVE MODE"):
        report = await app.transitions.sweep()
    assert report.updated == 1
    assert {(error.model, error.id) for error in report.errors} == {("Note", None)}
    assert (await app.transitions.sweep()).updated == 1
