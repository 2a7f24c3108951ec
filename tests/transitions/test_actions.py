"""Actions that rows schedule, in the transaction that changes the rows."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

from duetime import ANY, Duetime
from duetime.errors import ConfigError
from duetime.events.types import TransitionApplied
from duetime.testing import FakeClock
from duetime.transitions import transition
from transitions.engines import ModelDatabase
from transitions.models import Base as Blog
from transitions.models import Post
from transitions.reminders import Base, Remind, Visit


@pytest.fixture
def visits(same_database_app: Duetime, database: ModelDatabase) -> Duetime:
    database.make_tables(Base)
    same_database_app.payload(Remind, kind="remind")
    same_database_app.transitions.register(Base, database.engine)
    return same_database_app


async def test_they_are_scheduled(
    visits: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(
        Visit(id=1, remind_at=clock.now()),
        Visit(id=2, remind_at=clock.now(), guest="nobody"),
        Visit(id=3, ends_at=clock.now()),
        Visit(id=4, watch_at=clock.now(), guest="bob"),
        Visit(id=5, watch_at=clock.now(), guest="ann"),
    )
    report = await visits.transitions.sweep()
    assert (report.updated, report.errors) == (4, [])
    found = await visits.testing.scheduled(Remind)
    assert sorted(action.payload.visit for action in found) == [-3, 1, 3, 4]
    assert {action.created_by for action in found} == {"system"}
    assert database.rows("SELECT count(*) FROM visits WHERE remind_at IS NOT NULL") == [(0,)]
    assert (await visits.transitions.sweep()).updated == 0


async def test_scheduled_actions_have_no_tenant_whoever_calls_the_sweep(
    visits: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Visit(id=1, remind_at=clock.now()))
    with visits.acting(tenant="acme", by="ann"):
        await visits.transitions.sweep()
    (action,) = await visits.find(tenant=ANY)
    assert (action.tenant, action.created_by) == (None, "system")


async def test_a_row_whose_action_fails_is_reported_alone(
    visits: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    guests = ["ann", "trouble", "bob", "cid"]
    database.add(*(Visit(id=n, guest=who, remind_at=clock.now()) for n, who in enumerate(guests)))
    report = await visits.transitions.sweep()
    assert (report.updated, [error.id for error in report.errors]) == (3, [1])
    await visits.testing.assert_scheduled(Remind, count=3)


def refused(*_: Any) -> None:
    raise RuntimeError("the plug is pulled")


async def test_all_or_nothing(visits: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    """A commit that fails takes the actions back."""
    database.add(Visit(id=1, remind_at=clock.now()))
    await visits.transitions.pending()
    event.listen(Session, "before_commit", refused)
    try:
        report = await visits.transitions.sweep()
    finally:
        event.remove(Session, "before_commit", refused)
    assert [error.error for error in report.errors] == ["RuntimeError: the plug is pulled"]
    await visits.testing.assert_not_scheduled(Remind)
    clock.advance(hours=1)
    await visits.transitions.sweep()
    await visits.testing.assert_scheduled(Remind(1), count=1)


async def test_a_request_says_more(
    same_database_app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    class Own(DeclarativeBase):
        pass

    class Trip(Own):
        __tablename__ = "trips"
        id: Mapped[int] = mapped_column(primary_key=True)
        at: Mapped[datetime | None] = transition(
            clear=True,
            action=lambda row: same_database_app.request(
                Remind(row.id), tenant="acme", key=f"trip:{row.id}"
            ),
        )

    Own.metadata.create_all(database.sync_engine)
    same_database_app.payload(Remind, kind="remind")
    same_database_app.transitions.register(Own, database.engine)
    database.add(Trip(id=7, at=clock.now()))
    await same_database_app.transitions.sweep()
    (action,) = await same_database_app.find(tenant="acme")
    assert (action.payload, action.key) == (Remind(7), "trip:7")


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
def test_another_database_is_refused(database: ModelDatabase, postgres_url: str) -> None:
    stores = ["memory://", "sqlite:///elsewhere.db", f"{postgres_url}_other"]
    for url in stores:
        app = Duetime(url)
        with pytest.raises(ConfigError, match=r"Visit\.remind_at has an action=.*use one database"):
            app.transitions.register(Base, database.engine)
        app.transitions.register(Blog, database.engine)


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_another_database_of_the_same_name(
    database: ModelDatabase, database_url: str, private_postgres: Any
) -> None:
    """Their URLs look alike: the first sweep reports it, before anything is changed."""
    name = database_url.rpartition("/")[2].partition("?")[0]
    server = private_postgres()
    server._admin("CREATE DATABASE {}", name)
    app = Duetime(server.database_url(name))
    app.payload(Remind, kind="remind")
    app.transitions.register(Base, database.engine)
    with pytest.raises(ConfigError, match="one transaction cannot span both"):
        await app.transitions.sweep()
    with pytest.raises(ConfigError, match="one transaction cannot span both"):
        async with app.transitions.runner():
            pass
    await app.aclose()


def test_register_does_not_check_a_custom_store() -> None:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    Duetime(store=object()).transitions.register(Base, engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
@pytest.mark.parametrize("bulk", [False, True])
async def test_a_durable_subscriber_is_notified_in_the_same_transaction(
    same_database_app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    received: list[TransitionApplied] = []
    same_database_app.on(TransitionApplied, received.append, durable=True, name="note")
    same_database_app.transitions.register(Blog, database.engine, bulk=bulk)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    await same_database_app.transitions.pending()
    event.listen(Session, "before_commit", refused)
    try:
        await same_database_app.transitions.sweep()
    finally:
        event.remove(Session, "before_commit", refused)
    assert list(await same_database_app.find(kind="on-transition-applied-note")) == []
    clock.advance(hours=1)
    await same_database_app.transitions.sweep()
    await same_database_app.testing.drain()
    applied = [(event.id, event.column, event.field, event.to) for event in received]
    assert sorted(applied) == [(n, "publish_at", "status", "published") for n in range(3)]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
def test_so_it_is_after_the_registration(app: Duetime, database: ModelDatabase) -> None:
    app.transitions.register(Blog, database.engine)
    with pytest.raises(ConfigError, match="has a durable subscriber of its event"):
        app.on(TransitionApplied, lambda _: None, durable=True, name="note")


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_a_durable_subscriber_is_refused_by_the_next_sweep_if_urls_are_alike(
    database: ModelDatabase, clock: FakeClock, database_url: str, private_postgres: Any
) -> None:
    """And no row is blamed."""
    name = database_url.rpartition("/")[2].partition("?")[0]
    server = private_postgres()
    server._admin("CREATE DATABASE {}", name)
    async with Duetime(server.database_url(name), clock=clock) as app:
        app.transitions.register(Blog, database.engine)
        await app.transitions.pending()
        database.add(Post(id=1, publish_at=clock.now()))
        app.on(TransitionApplied, lambda _: None, durable=True, name="note")
        with pytest.raises(ConfigError, match="one transaction cannot span both"):
            await app.transitions.sweep()
    assert database.rows("SELECT * FROM duetime_transitions") == []


@pytest.mark.parametrize("kind", ["pysqlite"])
def test_a_durable_subscriber_in_another_database_is_refused(
    app: Duetime, database: ModelDatabase
) -> None:
    app.on(TransitionApplied, lambda _: None, durable=True, name="note")
    with pytest.raises(ConfigError, match="has a durable subscriber of its event"):
        app.transitions.register(Blog, database.engine)
