"""Time zones of sessions, schemas, and other ways to map."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import DateTime, ForeignKey, event, text
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import transition
from transitions.engines import ON_POSTGRES, ModelDatabase
from transitions.models import Base, Order, Post

postgres = pytest.mark.parametrize("kind", ON_POSTGRES)


class Own(DeclarativeBase):
    pass


class Event(Own):
    """A key that is an instant, in a schema of its own."""

    __tablename__ = "events"
    __table_args__ = {"schema": "calendar"}
    database: Mapped[str] = mapped_column(primary_key=True)
    starts: Mapped[datetime] = mapped_column(DateTime(timezone=True), primary_key=True)
    over: Mapped[bool | None]
    ends: Mapped[datetime | None] = transition(set_field="over", to=True)


class Animal(Own):
    __tablename__ = "animals"
    id: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str]
    state: Mapped[str] = mapped_column(default="young")
    grow_at: Mapped[datetime | None] = transition(set_field="state", from_="young", to="grown")
    __mapper_args__ = {"polymorphic_on": "type", "polymorphic_identity": "animal"}


class Dog(Animal):
    """In the same table."""

    bark_at: Mapped[datetime | None] = transition(set_field="state", from_="young", to="barking")
    __mapper_args__ = {"polymorphic_identity": "dog"}


class Bird(Animal):
    """In a table of its own."""

    __tablename__ = "birds"
    id: Mapped[int] = mapped_column(ForeignKey("animals.id"), primary_key=True)
    song: Mapped[str] = mapped_column(default="none")
    sing_at: Mapped[datetime | None] = transition(set_field="song", to="tweet")
    __mapper_args__ = {"polymorphic_identity": "bird"}


def zone(database: ModelDatabase, name: str) -> None:
    """Every session on its engine gets this zone."""
    engine = (
        database.engine.sync_engine if isinstance(database.engine, AsyncEngine) else database.engine
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET TIME ZONE '{name}'")
        cursor.close()
        connection.commit()


@postgres
@pytest.mark.parametrize("bulk", [False, True])
async def test_sessions_in_any_zone(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    """One sweeps in Tokyo's time, the next in Los Angeles': the same values have fired."""
    naive = clock.now().replace(tzinfo=None)
    database.add(Post(id=1, publish_at=clock.now()), Order(group="a", number=1, when=naive))
    late = naive + timedelta(hours=1)
    database.add(Order(group="b", number=1, when=late))
    zone(database, "Asia/Tokyo")
    app.transitions.register(Base, database.engine, bulk=bulk)
    assert (await app.transitions.sweep()).updated == 2
    database.do("UPDATE posts SET status = 'draft'")
    database.do("""UPDATE "order" SET "select" = 'calm'""")
    other = ModelDatabase(database.kind, database.url)
    zone(other, "America/Los_Angeles")
    again = Duetime("memory://", clock=clock)
    again.transitions.register(Base, other.engine, bulk=bulk)
    assert (await again.transitions.sweep()).updated == 0
    clock.advance(hours=1)
    assert (await again.transitions.sweep()).updated == 1
    await other.close()
    kept = database.rows("SELECT value FROM duetime_transitions WHERE table_name = 'posts'")
    assert [row[0].astimezone(UTC) for row in kept] == [datetime(2030, 1, 1, tzinfo=UTC)]


@postgres
async def test_schemas_and_keys_that_are_instants(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.do("CREATE SCHEMA calendar")
    database.make_tables(Own)
    now = clock.now()
    database.add(
        *(Event(database="hall", starts=now - timedelta(days=n), ends=now) for n in range(3))
    )
    app.transitions.register(Event, database.engine)
    assert (await app.transitions.sweep()).updated == 3
    database.do("UPDATE calendar.events SET over = NULL")
    other = ModelDatabase(database.kind, database.url)
    zone(other, "Asia/Kathmandu")
    again = Duetime("memory://", clock=clock)
    again.transitions.register(Event, other.engine)
    assert (await again.transitions.sweep()).updated == 0
    await other.close()
    named = database.rows("SELECT DISTINCT table_name FROM duetime_transitions")
    assert named == [("calendar.events",)]


async def test_inheritance(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    with database.sync_engine.begin() as connection:
        tables = [Own.metadata.tables[name] for name in ("animals", "birds")]
        Own.metadata.create_all(connection, tables=tables)
    received: list[Any] = []
    app.transitions.register(
        [Animal], database.engine, on_set_field=lambda model, id, *_: received.append((model, id))
    )
    now = clock.now()
    database.add(Dog(id=1, bark_at=now), Bird(id=2, sing_at=now), Bird(id=3, grow_at=now))
    report = await app.transitions.sweep()
    assert (report.updated, [str(e) for e in report.errors]) == (3, [])
    assert received == [(Animal, 3), (Dog, 1), (Bird, 2)]
    assert database.rows("SELECT song FROM birds ORDER BY id") == [("tweet",), ("none",)]
    states = database.rows("SELECT state FROM animals ORDER BY id")
    assert states == [("barking",), ("young",), ("grown",)]


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
@pytest.mark.parametrize("level", ["AUTOCOMMIT", "SERIALIZABLE", "REPEATABLE READ"])
async def test_isolation_of_the_application(
    app: Duetime, kind: str, database_url: str, clock: FakeClock, level: str
) -> None:
    """A batch is one transaction that sees what was committed, whatever the engine's default."""
    database = ModelDatabase(kind, database_url, isolation_level=level)
    database.make_tables()
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    app.transitions.register(Base, database.engine)
    assert (await app.transitions.sweep()).updated == 3
    await database.close()


@pytest.mark.parametrize("kind", ["pysqlite"])
async def test_an_engine_that_begins_by_itself(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """As SQLAlchemy advises for savepoints on SQLite."""

    @event.listens_for(database.engine, "connect")
    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None

    @event.listens_for(database.engine, "begin")
    def begun(connection: Any) -> None:
        connection.execute(text("BEGIN"))

    app.transitions.register(Base, database.engine)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    assert (await app.transitions.sweep()).updated == 3
