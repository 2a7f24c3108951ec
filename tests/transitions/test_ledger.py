"""The ledger: its keys, what is pruned, and what it counts."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import BINARY, DateTime, LargeBinary, Numeric, TypeDecorator
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duetime import Duetime, Retry
from duetime.testing import FakeClock
from duetime.transitions import ledger_cleanup, transition
from duetime.transitions.batch import RowBatch
from transitions.engines import ModelDatabase
from transitions.models import Post
from transitions.test_failing import Base as Drafts
from transitions.test_failing import Draft

PAST = datetime(2020, 1, 1, 2, 3, 4, 567891, tzinfo=UTC)


class Packed(TypeDecorator[UUID]):
    """A UUID as its bytes."""

    impl = BINARY(16)
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        return dialect.type_descriptor(LargeBinary() if dialect.name == "postgresql" else BINARY())

    def process_bind_param(self, value: UUID | None, dialect: Any) -> bytes | None:
        return None if value is None else value.bytes

    def process_result_value(self, value: bytes | None, dialect: Any) -> UUID | None:
        return None if value is None else UUID(bytes=bytes(value))


class Shout(TypeDecorator[str]):
    from sqlalchemy import String as impl

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else value.upper()

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else value.lower()


KEYS: dict[str, tuple[Any, Any, Any]] = {
    "stamp": (DateTime(timezone=True), PAST, PAST + timedelta(microseconds=1)),
    "naive": (DateTime(), PAST.replace(tzinfo=None), datetime(1969, 7, 20, 20, 17, 40)),  # noqa: DTZ001
    "date": (None, date(2020, 1, 1), date(1969, 7, 20)),
    "time": (None, time(1, 2, 3), time(4, 5, 6, 7)),
    "bytes": (None, b"\x00\xff", b"\x00\xfe"),
    "packed": (Packed(), uuid4(), uuid4()),
    "uuid": (None, uuid4(), uuid4()),
    "shout": (Shout(), "ann", "bob"),
    "text": (None, "1:é", "2:ü"),
    "flag": (None, True, False),
    "numeric": (Numeric(10, 2), 1, 2),
}


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", KEYS)
async def test_any_key_is_known_and_pruned(
    app: Duetime, database: ModelDatabase, clock: FakeClock, name: str, parts: int
) -> None:
    type_, first, second = KEYS[name]
    mapped: Any = Mapped

    class Base(DeclarativeBase):
        pass

    key = (
        mapped_column(primary_key=True) if type_ is None else mapped_column(type_, primary_key=True)
    )
    body: dict[str, Any] = {
        "__tablename__": "things",
        "__annotations__": {"id": mapped[type(first)], "state": Mapped[int]},
        "id": key,
        "state": mapped_column(default=0),
        "at": transition(set_field="state", from_=0, to=1),
    }
    if parts == 2:
        body["other"] = mapped_column(primary_key=True)
        body["__annotations__"]["other"] = Mapped[str]
    Thing: Any = type("Thing", (Base,), body)
    Base.metadata.create_all(database.sync_engine)
    more = {"other": "x"} if parts == 2 else {}
    database.add(*(Thing(id=number, at=clock.now(), **more) for number in (first, second)))
    app.transitions.register(Base, database.engine)
    report = await app.transitions.sweep()
    assert (report.updated, report.errors) == (2, [])
    database.do("UPDATE things SET state = 0")
    assert (await app.transitions.sweep()).updated == 0
    with database.session() as session:
        session.delete(session.get_one(Thing, (second, "x") if more else second))
    await app.transitions.drain()
    assert len(database.rows("SELECT row_key FROM duetime_transitions")) == 1
    assert (await app.transitions.sweep()).updated == 0


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_a_table_that_is_missing_keeps_no_other_from_being_pruned(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Drafts)
    app.transitions.register([Draft, Post], database.engine)
    database.add(Post(id=1, publish_at=clock.now()), Draft(id=1, at=clock.now()))
    await app.transitions.drain()
    database.do("DELETE FROM posts")
    database.do("DROP TABLE drafts")
    (sweeper,) = app.transitions._sweepers
    await sweeper.clean_ledger()
    assert database.rows("SELECT table_name FROM duetime_transitions") == [("drafts",)]


@pytest.mark.parametrize("kind", ["pysqlite", "asyncpg"])
async def test_a_job_prunes_too(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    app.transitions.register(Post, database.engine, interval=1e-6)
    app.transitions.as_job("* * * * *")
    database.add(Post(id=1, publish_at=clock.now()))
    await app.testing.advance(minutes=1)
    assert len(database.rows("SELECT * FROM duetime_transitions")) == 1
    database.do("DELETE FROM posts")
    await app.testing.advance(minutes=1)
    assert database.rows("SELECT * FROM duetime_transitions") == []


SETTLED = {
    "called off": "UPDATE drafts SET at = NULL",
    "done by hand": "UPDATE drafts SET state = 'out'",
    "removed": "DELETE FROM drafts",
}


@pytest.mark.parametrize("sql", SETTLED.values(), ids=SETTLED)
async def test_rows_that_were_settled_by_hand_are_parked_no_more(
    app: Duetime, database: ModelDatabase, clock: FakeClock, sql: str
) -> None:
    database.make_tables(Drafts)
    database.add(Draft(id=1, at=clock.now(), text="bad"))
    app.transitions.register(Drafts, database.engine, retry=Retry.none())
    await app.transitions.sweep()
    assert [target.parked for target in await app.transitions.pending()] == [1]
    database.do(sql)
    assert [target.parked for target in await app.transitions.pending()] == [0]


async def test_a_value_that_was_applied_stays_so_after_another_failed(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """Applied, undone; a new value fails; back at the first one."""
    database.make_tables(Drafts)
    app.transitions.register(Drafts, database.engine)
    first, second = clock.now() - timedelta(days=2), clock.now() - timedelta(days=1)
    database.add(Draft(id=1, at=first))
    assert (await app.transitions.sweep()).updated == 1
    edit(database, state="draft", text="bad", at=second)
    assert (await app.transitions.sweep()).failed == 1
    edit(database, text="fine", at=first)
    for parked in (False, True):
        assert (await app.transitions.sweep(parked=parked)).changed == 0
    edit(database, at=second)
    assert (await app.transitions.sweep()).changed == 0
    assert (await app.transitions.sweep(parked=True)).updated == 1
    edit(database, state="draft", at=first)
    assert (await app.transitions.sweep()).updated == 1


def edit(database: ModelDatabase, **values: object) -> None:
    with database.session() as session:
        draft = session.get_one(Draft, 1)
        for name, value in values.items():
            setattr(draft, name, value)


@pytest.mark.parametrize("bulk", [False, True])
async def test_a_value_that_was_cleared_may_come_again(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    class Base(DeclarativeBase):
        pass

    class Alarm(Base):
        __tablename__ = "bells"
        id: Mapped[int] = mapped_column(primary_key=True)
        rung: Mapped[bool] = mapped_column(default=False)
        ring_at: Mapped[datetime | None] = transition(
            set_field="rung", from_=False, to=True, clear=True
        )
        melt_at: Mapped[datetime | None] = transition(set_field="rung", from_=True, to=False)

    Base.metadata.create_all(database.sync_engine)
    app.transitions.register(Base, database.engine, bulk=bulk)
    database.add(Alarm(id=1, ring_at=PAST, melt_at=PAST))
    for changes in (2, 1):
        assert (await app.transitions.sweep()).updated == changes
        with database.session() as session:
            alarm = session.get_one(Alarm, 1)
            assert alarm.ring_at is None
            alarm.ring_at, alarm.rung = PAST, False
    # The other column's line stays.
    assert database.rows("SELECT column_name FROM duetime_transitions") == [("melt_at",)]


async def test_a_ledger_of_an_older_version_is_renewed(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.do("ALTER TABLE duetime_transitions DROP COLUMN applied_value")
    app.transitions.register(Post, database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    report = await app.transitions.sweep()
    assert (report.updated, report.errors) == (1, [])
    assert database.rows("SELECT applied_value FROM duetime_transitions") == [(None,)]


async def delete_first(database: ModelDatabase) -> None:
    if isinstance(database.engine, AsyncEngine):
        async with AsyncSession(database.engine) as session:
            await session.delete(await session.get_one(Post, 1))
            await session.commit()
    else:
        with Session(database.engine) as blocking:
            blocking.delete(blocking.get_one(Post, 1))
            blocking.commit()


async def test_a_new_row_with_an_old_key_starts_anew(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Post, database.engine)
    for _ in range(2):
        database.add(Post(id=1, publish_at=clock.now()), Post(id=11, publish_at=None))
        assert (await app.transitions.sweep()).updated == 1
        await delete_first(database)
        assert database.rows("SELECT * FROM duetime_transitions") == []
        database.do("DELETE FROM posts")


@pytest.mark.parametrize("how", ["only registers", "has options of its own"])
async def test_who_deletes_and_never_sweeps_forgets_too(
    app: Duetime, database: ModelDatabase, clock: FakeClock, how: str
) -> None:
    """A web process, or an engine that comes from the registered one."""
    engine = database.sync_engine
    if how == "only registers":
        app.transitions.register(Post, database.engine)
        Duetime("memory://").transitions.register(Post, engine)
    else:
        app.transitions.register(Post, engine)
        engine = engine.execution_options(logging_token="web")
    at = clock.now() - timedelta(minutes=1)
    for _ in range(2):
        with Session(engine) as session:
            session.add(Post(id=1, status="draft", publish_at=at))
            session.commit()
        assert (await app.transitions.sweep()).updated == 1
        with Session(engine) as session:
            session.delete(session.get_one(Post, 1))
            session.commit()


async def test_cleanup_keeps_an_entry_written_since_it_read(
    app: Duetime, database: ModelDatabase, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is inserted again, with a new entry, before the old entry is deleted."""
    app.transitions.register(Post, database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    await app.transitions.sweep()
    database.do("DELETE FROM posts")
    real, first_call = ledger_cleanup._keys_without_row, iter([True])

    def keys_without_row(session: Session, batch: RowBatch, row_keys: list[str]) -> list[str]:
        missing = real(session, batch, row_keys)
        if next(first_call, False):
            database.add(Post(id=1, status="published", publish_at=clock.now()))
        return missing

    monkeypatch.setattr(ledger_cleanup, "_keys_without_row", keys_without_row)
    await app.transitions._sweepers[0].clean_ledger()
    assert next(first_call, True) is True
    assert database.rows("SELECT row_key FROM duetime_transitions") == [("1",)]
