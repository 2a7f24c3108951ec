"""Index and ledger in the metadata of a model with a transition."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import sqlmodel
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, DateTime, Index, Integer, MetaData, String, Table, create_engine
from sqlalchemy import inspect as looked_at
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, registry
from sqlalchemy.pool import StaticPool

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import LEDGER, declare, transition
from transitions.engines import ModelDatabase
from transitions.models import Base, Order, Post, Ticket


@pytest.fixture
def postgres_url(empty_postgres_url: str) -> str:
    """Here it counts that there is nothing of ours."""
    return empty_postgres_url


def predicate(database: ModelDatabase, index: str) -> str:
    if database.on_postgres:
        ((text,),) = database.rows("SELECT pg_get_indexdef(to_regclass(:name))", name=index)
    else:
        ((text,),) = database.rows("SELECT sql FROM sqlite_master WHERE name = :name", name=index)
    return str(text).partition(" WHERE ")[2]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
def test_indexes_are_partial_on_the_guard(database: ModelDatabase) -> None:
    publishing = predicate(database, "ix_posts_publish_at_due")
    assert "draft" in publishing
    assert "deleted_at IS NULL" in publishing
    removing = predicate(database, "ix_posts_purge_at_due")
    assert removing.strip("()") == "purge_at IS NOT NULL"
    assert "closed" in predicate(database, "ix_tickets_close_at_due")
    assert "angry" in predicate(database, "ix_order_when_due")


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
def test_alembic_sees_index_and_ledger(database: ModelDatabase) -> None:
    """Nothing is left to do after create_all; on an empty database they are found missing."""
    with database.sync_engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
    database.do("DROP TABLE duetime_transitions")
    database.do("DROP INDEX ix_posts_publish_at_due")
    with database.sync_engine.connect() as connection:
        context = MigrationContext.configure(connection)
        missing = compare_metadata(context, Base.metadata)
    assert [(change[0], change[1].name) for change in missing] == [
        ("add_table", LEDGER),
        ("add_index", "ix_duetime_transitions_retry_at"),
        ("add_index", "ix_posts_publish_at_due"),
    ]


def test_it_is_there_before_anything_is_registered() -> None:
    assert LEDGER in Base.metadata.tables
    names = {index.name for model in (Post, Order, Ticket) for index in model.__table__.indexes}  # type: ignore[attr-defined]
    assert {"ix_posts_publish_at_due", "ix_order_end_due", "ix_tickets_close_at_due"} <= names


def test_a_declared_index_is_respected() -> None:
    class Own(DeclarativeBase):
        pass

    class Paper(Own):
        __tablename__ = "papers"
        __table_args__ = (Index("mine", "expires_at", "id"),)
        id: Mapped[int] = mapped_column(primary_key=True)
        purge_at: Mapped[datetime | None] = transition(hard_delete=True, index=True)
        expires_at: Mapped[datetime | None] = transition(hard_delete=True)

    assert {index.name for index in Paper.__table__.indexes} == {"mine", "ix_papers_purge_at"}  # type: ignore[attr-defined]


def test_models_without_transitions_get_nothing() -> None:
    class Own(DeclarativeBase):
        pass

    class Paper(Own):
        __tablename__ = "papers"
        id: Mapped[int] = mapped_column(primary_key=True)

    assert list(Own.metadata.tables) == [Paper.__tablename__]


def test_long_names_are_cut_and_stay_apart() -> None:
    class Own(DeclarativeBase):
        pass

    class Paper(Own):
        __tablename__ = "p" * 40
        id: Mapped[int] = mapped_column(primary_key=True)
        first: Mapped[datetime | None] = transition("a" * 30, hard_delete=True)
        second: Mapped[datetime | None] = transition("a" * 30 + "b", hard_delete=True)

    names = {str(index.name) for index in Paper.__table__.indexes}  # type: ignore[attr-defined]
    assert [len(name) for name in names] == [63, 63]


async def test_a_model_that_cannot_be_edited(
    database: ModelDatabase, app: Duetime, clock: FakeClock
) -> None:
    mapped, metadata = registry(), MetaData()
    table = Table(
        "legacy",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("flag", String),
        Column("kind", String),
        Column("run_out", DateTime(timezone=True)),
    )

    class Legacy:
        pass

    mapped.map_imperatively(Legacy, table, properties={"state": table.c.flag})
    known: Any = Legacy
    declare(known.run_out, set_field="state", to="over", where=known.kind == "old")
    metadata.create_all(database.sync_engine)
    assert "kind" in predicate(database, "ix_legacy_run_out_due")
    app.transitions.register(Legacy, database.engine)
    insert = "INSERT INTO legacy (id, kind, run_out) VALUES (:id, :kind, :at)"
    at = clock.now() if database.on_postgres else f"{clock.now():%Y-%m-%d %H:%M:%S.%f}"
    database.do(insert, id=1, kind="old", at=at)
    database.do(insert, id=2, kind="new", at=at)
    assert (await app.transitions.sweep()).updated == 1
    assert database.rows("SELECT flag FROM legacy ORDER BY id") == [("over",), (None,)]


class Hero(sqlmodel.SQLModel, table=True):
    id: int | None = sqlmodel.Field(default=None, primary_key=True)
    status: str = "idle"
    wake_at: datetime | None = sqlmodel.Field(
        default=None, sa_column=transition(set_field="status", to="awake").column
    )


async def test_sqlmodel(database: ModelDatabase, app: Duetime, clock: FakeClock) -> None:
    sqlmodel.SQLModel.metadata.create_all(database.sync_engine)
    assert "awake" in predicate(database, "ix_hero_wake_at_due")
    app.transitions.register(sqlmodel.SQLModel, database.engine)
    database.add(Hero(id=1, wake_at=clock.now()))
    assert (await app.transitions.sweep()).updated == 1
    assert database.rows("SELECT status FROM hero") == [("awake",)]


class TestInstants:
    """The column that `transition()` makes."""

    @pytest.fixture
    def session(self) -> Iterator[Session]:
        engine = create_engine("sqlite://", poolclass=StaticPool)
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            yield session
        engine.dispose()

    def kept(self, session: Session, value: datetime) -> datetime | None:
        session.add(Post(id=1, publish_at=value))
        session.commit()
        return session.get_one(Post, 1).publish_at

    def test_they_are_kept_in_utc(self, session: Session) -> None:
        paris = timezone(timedelta(hours=1))
        found = self.kept(session, datetime(2030, 1, 1, 12, tzinfo=paris))
        assert found == datetime(2030, 1, 1, 11, tzinfo=UTC)
        assert found is not None
        assert found.tzinfo is UTC

    def test_a_naive_column_is_refused(self, session: Session) -> None:
        with pytest.raises(StatementError, match="it has no time zone"):
            self.kept(session, datetime(2030, 1, 1))  # noqa: DTZ001

    def test_the_column_has_a_zone(self, postgres_url: str) -> None:
        engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
        Base.metadata.create_all(engine)
        columns = {
            column["name"]: column["type"] for column in looked_at(engine).get_columns("posts")
        }
        engine.dispose()
        assert getattr(columns["publish_at"], "timezone", None) is True
