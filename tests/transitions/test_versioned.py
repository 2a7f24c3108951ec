"""Listeners of the application see transitions as they see any other change."""

from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker
from sqlalchemy.orm import Session, with_loader_criteria

from duetime import Duetime
from duetime.model.tenant import current_by
from duetime.testing import FakeClock
from transitions.engines import ModelDatabase
from transitions.models import Base as Blog
from transitions.models import Post
from transitions.versioned_app import Article, Base, History, versioned_sessions, write_history


def sessions_of(database: ModelDatabase) -> Any:
    if not isinstance(database.engine, AsyncEngine):
        return versioned_sessions(database.engine)

    class Chronicling(Session):
        pass

    event.listen(Chronicling, "before_flush", write_history)
    return async_sessionmaker(database.engine, sync_session_class=Chronicling)


async def test_a_versioned_model_gets_its_history(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)
    database.add(*(Article(id=n, publish_at=clock.now()) for n in range(3)))
    app.transitions.register(Base, sessions_of(database))
    await app.transitions.sweep()
    with database.session() as session:
        lines = session.scalars(select(History).order_by(History.article_id))
        assert [(line.article_id, line.status, line.actor) for line in lines] == [
            (n, "published", "system") for n in range(3)
        ]
        assert set(session.scalars(select(Article.version))) == {2}


async def test_in_bulk_no_listener_is_called(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.make_tables(Base)
    database.add(Article(id=1, publish_at=clock.now()))
    app.transitions.register(Base, sessions_of(database), bulk=True)
    assert (await app.transitions.sweep()).updated == 1
    assert database.rows("SELECT count(*) FROM history") == [(0,)]


async def test_the_actor_is_the_system(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """Also if somebody asks for the sweep."""
    actors: list[str] = []

    def received(*_: object) -> None:
        actors.append(current_by())

    app.transitions.register(Blog, database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    event.listen(Post, "after_update", received)
    try:
        with app.acting(by="ann"):
            await app.transitions.sweep()
    finally:
        event.remove(Post, "after_update", received)
    assert actors == ["system"]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_removal_is_physical_whatever_listeners_make_of_it(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    def softly(session: Session, *_: object) -> None:
        for row in list(session.deleted):
            session.add(row)
            row.deleted_at = clock.now()

    app.transitions.register(Blog, database.engine)
    database.add(Post(id=1, purge_at=clock.now()))
    event.listen(Session, "before_flush", softly)
    try:
        assert (await app.transitions.sweep()).deleted == 1
    finally:
        event.remove(Session, "before_flush", softly)
    assert database.rows("SELECT count(*) FROM posts") == [(0,)]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_filters_of_the_application_hide_no_row(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """A session that shows only one tenant's rows, or only what is not deleted."""

    def filtered(state: Any) -> None:
        if state.is_select:
            state.statement = state.statement.options(
                with_loader_criteria(Post, Post.deleted_at.is_(None))
            )

    app.transitions.register(Blog, database.engine)
    database.add(Post(id=1, deleted_at=clock.now(), purge_at=clock.now()))
    event.listen(Session, "do_orm_execute", filtered)
    try:
        assert (await app.transitions.sweep()).deleted == 1
    finally:
        event.remove(Session, "do_orm_execute", filtered)
