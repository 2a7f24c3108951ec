"""Other ways to map: keys of the mapper's own, rows in several tables, one name for schemas."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import ForeignKey, event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import SoftDeletable, transition
from transitions.engines import ON_POSTGRES, ModelDatabase

bulk = pytest.mark.parametrize("bulk", [False, True])


class Keys(DeclarativeBase):
    pass


class Seat(Keys):
    """The mapper goes by another key than the table."""

    __tablename__ = "seats"
    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    purge_at: Mapped[datetime | None] = transition(hard_delete=True)
    __mapper_args__ = {"primary_key": [number]}


class Part(Keys):
    """The table's key has one more column, as a partitioned table's has."""

    __tablename__ = "parts"
    id: Mapped[int] = mapped_column(primary_key=True)
    region: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="new")
    at: Mapped[datetime | None] = transition(set_field="state", to="old")
    __mapper_args__ = {"primary_key": [id]}


@bulk
async def test_keys_are_those_of_the_table(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    database.make_tables(Keys)
    received: list[object] = []
    app.transitions.register(
        Keys,
        database.engine,
        bulk=bulk,
        on_delete=lambda model, id: received.append(id),
        on_set_field=lambda model, id, field, to: received.append(id),
    )
    database.add(Seat(id=1, number=2, purge_at=clock.now()), Seat(id=2, number=1))
    database.add(Part(id=1, region="eu", at=clock.now()))
    report = await app.transitions.sweep()
    assert (report.deleted, report.updated, report.errors) == (1, 1, [])
    assert database.rows("SELECT id, number FROM seats") == [(2, 1)]
    assert sorted(received, key=str) == [(1, "eu"), 1]


class Zoo(DeclarativeBase):
    pass


class Animal(SoftDeletable, Zoo):
    __tablename__ = "animals"
    id: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str]
    free_at: Mapped[datetime | None] = transition(hard_delete=True)
    __mapper_args__ = {"polymorphic_on": "type", "polymorphic_identity": "animal"}


class Bird(Animal):
    __tablename__ = "birds"
    id: Mapped[int] = mapped_column(ForeignKey("animals.id"), primary_key=True)
    song: Mapped[str] = mapped_column(default="none")
    sing_at: Mapped[datetime | None] = transition(set_field="song", to="tweet")
    purge_at: Mapped[datetime | None] = transition(hard_delete=True)
    __mapper_args__ = {"polymorphic_identity": "bird"}


@pytest.fixture
def zoo(database: ModelDatabase) -> ModelDatabase:
    database.make_tables(Zoo)
    return database


@bulk
async def test_who_is_deleted_softly_in_the_table_of_its_parent_sings_no_more(
    app: Duetime, zoo: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    now = clock.now()
    zoo.add(Bird(id=1, deleted_at=now, sing_at=now), Bird(id=2, sing_at=now))
    app.transitions.register(Zoo, zoo.engine, bulk=bulk)
    assert [
        target.due for target in await app.transitions.pending() if target.column == "sing_at"
    ] == [1]
    assert (await app.transitions.sweep()).updated == 1
    assert zoo.rows("SELECT id FROM birds WHERE song = 'tweet'") == [(2,)]


@pytest.mark.parametrize("kind", ON_POSTGRES)
@bulk
async def test_its_parent_that_somebody_is_at_is_waited_for(
    app: Duetime, zoo: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    zoo.add(*(Bird(id=n, sing_at=clock.now()) for n in range(3)))
    app.transitions.register(Zoo, zoo.engine, bulk=bulk)
    with zoo.sync_engine.begin() as other:
        other.exec_driver_sql("UPDATE animals SET deleted_at = now() WHERE id = 1")
        report = await app.transitions.sweep()
        assert (report.updated, report.skipped) == (2, 1)
    assert (await app.transitions.sweep()).updated == 0


@bulk
@pytest.mark.parametrize("column", ["purge_at", "free_at"])
async def test_a_row_in_two_tables_is_removed_from_both(
    app: Duetime, zoo: ModelDatabase, clock: FakeClock, column: str, bulk: bool
) -> None:
    zoo.add(Bird(id=1), Bird(id=2, **{column: clock.now()}))
    app.transitions.register(Zoo, zoo.engine, bulk=bulk)
    assert (await app.transitions.sweep()).deleted == 1
    assert zoo.rows("SELECT id FROM animals") == zoo.rows("SELECT id FROM birds") == [(1,)]


async def test_so_it_is_if_a_listener_makes_a_soft_deletion_of_it(
    app: Duetime, zoo: ModelDatabase, clock: FakeClock
) -> None:
    def softly(session: Session, *_: object) -> None:
        for row in list(session.deleted):
            session.add(row)
            row.deleted_at = clock.now()

    zoo.add(Bird(id=1), Bird(id=2, purge_at=clock.now()))
    app.transitions.register(Zoo, zoo.engine)
    event.listen(Session, "before_flush", softly)
    try:
        assert (await app.transitions.sweep()).deleted == 1
    finally:
        event.remove(Session, "before_flush", softly)
    assert zoo.rows("SELECT id FROM animals") == zoo.rows("SELECT id FROM birds") == [(1,)]


class Firm(DeclarativeBase):
    pass


class Worker(Firm):
    __tablename__ = "workers"
    id: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str]
    state: Mapped[str] = mapped_column(default="new")
    __mapper_args__ = {"polymorphic_on": "type", "polymorphic_identity": "worker"}


def starts() -> Any:
    return transition(set_field="state", from_="new", to="active", use_existing_column=True)


class Engineer(Worker):
    start: Mapped[datetime | None] = starts()
    __mapper_args__ = {"polymorphic_identity": "engineer"}


class Manager(Worker):
    start: Mapped[datetime | None] = starts()
    __mapper_args__ = {"polymorphic_identity": "manager"}


@bulk
async def test_siblings_that_share_a_column_keep_to_their_own_rows(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    database.make_tables(Firm)
    database.add(Engineer(id=1, start=clock.now()), Manager(id=2, start=clock.now()))
    received: list[Any] = []
    app.transitions.register(
        Firm,
        database.engine,
        bulk=bulk,
        on_set_field=lambda model, id, *_: received.append((model, id)),
    )
    report = await app.transitions.sweep()
    assert (report.updated, report.errors) == (2, [])
    assert received == [(Engineer, 1), (Manager, 2)]


class Tenants(DeclarativeBase):
    pass


class Page(Tenants):
    __tablename__ = "pages"
    __table_args__ = {"schema": "tenant"}
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="draft")
    at: Mapped[datetime | None] = transition(set_field="state", from_="draft", to="out")


class Bare(DeclarativeBase):
    pass


class Sheet(Bare):
    __tablename__ = "sheets"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="draft")
    at: Mapped[datetime | None] = transition(set_field="state", from_="draft", to="out")


@pytest.mark.parametrize("kind", ON_POSTGRES)
@bulk
@pytest.mark.parametrize(("model", "schema"), [(Page, "tenant"), (Sheet, None)])
async def test_tenants_with_a_schema_each(
    app: Duetime,
    database: ModelDatabase,
    clock: FakeClock,
    model: Any,
    schema: str | None,
    bulk: bool,
) -> None:
    """Two rows of one key and one time, in two schemas that one name stands for."""
    table = model.__table__.name
    if schema is None:
        model.metadata.create_all(database.sync_engine)
    for tenant in ("ann", "bob"):
        database.do(f"CREATE SCHEMA {tenant}")
        mapping = {"schema_translate_map": {schema: tenant}}
        sync_engine: Any = database.sync_engine.execution_options(**mapping)
        model.metadata.create_all(sync_engine, tables=[model.__table__])
        with Session(sync_engine) as session:
            session.add(model(id=1, at=clock.now()))
            session.commit()
        engine = database.engine.execution_options(**mapping)
        app.transitions.register(model, engine, bulk=bulk)
    report = await app.transitions.sweep()
    assert (report.updated, report.errors) == (2, [])
    for tenant in ("ann", "bob"):
        assert database.rows(f"SELECT state FROM {tenant}.{table}") == [("out",)]
        database.do(f"UPDATE {tenant}.{table} SET state = 'draft'")
    assert (await app.transitions.sweep()).updated == 0
