"""Due rows are changed as declared."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import null, select

from duetime import Duetime
from duetime.model.transition import Report, Tally
from duetime.testing import FakeClock
from transitions.engines import ON_POSTGRES, ModelDatabase
from transitions.models import Base, Comment, Mood, Order, Post, Ticket

MINUTE = timedelta(minutes=1)


@pytest.fixture
def blog(app: Duetime, database: ModelDatabase) -> Duetime:
    app.transitions.register(Base, database.engine)
    return app


def statuses(database: ModelDatabase) -> list[str | None]:
    with database.session() as session:
        return list(session.scalars(select(Post.status).order_by(Post.id)))


async def test_each_effect(blog: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    due = clock.now() - MINUTE
    database.add(
        Post(id=1, publish_at=due),
        Post(id=2, status="published", archive_at=due),
        Post(id=3, expires_at=due),
        Post(id=4, purge_at=due),
        Post(id=5, publish_at=clock.now() + MINUTE),
    )
    report = await blog.transitions.sweep()
    assert (report.updated, report.deleted, report.errors) == (2, 2, [])
    assert report.per_model["Post"] == Tally(updated=2, deleted=2)
    assert statuses(database) == ["published", "archived", "draft", "draft"]
    with database.session() as session:
        assert session.get_one(Post, 3).deleted_at == clock.now()


async def test_the_boundary_is_due(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(
        Post(id=1, publish_at=clock.now()),
        Post(id=2, publish_at=clock.now() + timedelta(microseconds=1)),
    )
    await blog.transitions.sweep()
    assert statuses(database) == ["published", "draft"]
    clock.set(clock.now() + timedelta(microseconds=1))
    await blog.transitions.sweep()
    assert statuses(database) == ["published", "published"]


async def test_an_undo_is_respected(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Post(id=1, publish_at=clock.now()), Post(id=2, expires_at=clock.now()))
    await blog.transitions.sweep()
    database.do("UPDATE posts SET status = 'draft', deleted_at = NULL")
    for _ in range(3):
        clock.advance(hours=1)
        assert (await blog.transitions.sweep()).changed == 0
    assert statuses(database) == ["draft", "draft"]


async def test_a_new_value_arms_again(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Post(id=1, publish_at=clock.now()))
    await blog.transitions.sweep()
    with database.session() as session:
        post = session.get_one(Post, 1)
        post.status, post.publish_at = "draft", clock.now() + MINUTE
    assert (await blog.transitions.sweep()).changed == 0
    clock.advance(minutes=1)
    assert (await blog.transitions.sweep()).changed == 1
    database.do("UPDATE posts SET status = 'draft'")
    assert (await blog.transitions.sweep()).changed == 0


async def test_a_guard_is_kept(blog: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    """Nothing but a draft is published; soft deletion puts out of reach of all but removal."""
    due = clock.now()
    database.add(
        Post(id=1, status="review", publish_at=due),
        Post(id=2, status=null(), publish_at=due),
        Post(id=3, deleted_at=due, publish_at=due, expires_at=due),
        Post(id=4, deleted_at=due, purge_at=due),
    )
    report = await blog.transitions.sweep()
    assert (report.updated, report.deleted) == (0, 1)
    assert statuses(database) == ["review", None, "draft"]


async def test_a_change_from_null(blog: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    database.add(
        Ticket(state=None, close_at=clock.now()),
        Ticket(state="open", close_at=clock.now()),
        Ticket(state="closed", close_at=clock.now()),
    )
    assert (await blog.transitions.sweep()).updated == 2
    assert database.rows("SELECT DISTINCT state FROM tickets") == [("closed",)]


async def test_chained_in_one_pass(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """After a long downtime they are still applied in order."""
    due = clock.now() - MINUTE
    database.add(Post(id=1, publish_at=due, archive_at=clock.now()))
    assert (await blog.transitions.sweep()).updated == 2
    assert statuses(database) == ["archived"]


async def test_keys_of_two_parts_and_reserved_words(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    due = clock.now().replace(tzinfo=None)
    keys = [("a", 11), ("a1", 1), ("a:1", 2), ("é", 3)]
    database.add(*(Order(group=group, number=number, when=due) for group, number in keys))
    assert (await blog.transitions.sweep()).updated == 4
    with database.session() as session:
        assert set(session.scalars(select(Order.select))) == {Mood.angry}
        for order in session.scalars(select(Order).where(Order.number < 3)):
            order.select = Mood.calm
    assert (await blog.transitions.sweep()).updated == 0
    with database.session() as session:
        session.get_one(Order, ("a", 11)).end = due
    assert (await blog.transitions.sweep()).deleted == 1
    assert database.rows('SELECT "group" FROM "order" WHERE is_deleted') == [("a",)]


async def test_uuid_keys(blog: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    ids = [uuid4() for _ in range(3)]
    database.add(*(Ticket(id=id, state="open", close_at=clock.now()) for id in ids))
    assert (await blog.transitions.sweep()).updated == 3
    database.do("UPDATE tickets SET state = 'open'")
    assert (await blog.transitions.sweep()).updated == 0


async def test_the_oldest_come_first_and_truncation_is_reported(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    seen: list[object] = []
    app.transitions.register(
        Base, database.engine, batch=2, on_set_field=lambda model, id, field, to: seen.append(id)
    )
    now = clock.now()
    database.add(*(Post(id=n, publish_at=now - n * MINUTE) for n in range(5)))
    truncated = [(await app.transitions.sweep()).truncated for _ in range(3)]
    assert (seen, truncated) == ([4, 3, 2, 1, 0], [True, True, False])


async def test_a_drain_does_all_that_is_due(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """A backlog of many rows with the same value, in bulk too; an undone row blocks none."""
    for bulk in (False, True):
        fresh_app = Duetime("memory://", clock=clock)
        fresh_app.transitions.register(Post, database.engine, batch=7, bulk=bulk)
        base = 100 * bulk
        database.add(*(Post(id=base + n, publish_at=clock.now()) for n in range(30)))
        report = await fresh_app.transitions.drain()
        assert (report.updated, report.truncated, report.skipped) == (30, False, 0)
        database.do("UPDATE posts SET status = 'draft' WHERE id < :some", some=base + 20)
        database.add(Post(id=base + 50, publish_at=clock.now()))
        assert (await fresh_app.transitions.drain()).updated == 1


async def test_a_full_batch_is_not_truncated(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Base, database.engine, batch=2)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(2)))
    assert await app.transitions.sweep() == Report(
        updated=2,
        per_model={
            "Order": Tally(),
            "Post": Tally(updated=2),
            "Ticket": Tally(),
        },
    )


async def test_in_bulk(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    app.transitions.register(Base, database.engine, bulk=True)
    due, naive = clock.now(), clock.now().replace(tzinfo=None)
    database.add(
        *(Post(id=n, publish_at=due) for n in range(3)),
        Post(id=3, purge_at=due),
        Post(id=4, expires_at=due),
        Order(group="a", number=1, when=naive),
    )
    report = await app.transitions.sweep()
    assert (report.updated, report.deleted) == (4, 2)
    database.do("UPDATE posts SET status = 'draft', deleted_at = NULL")
    assert (await app.transitions.sweep()).changed == 0
    assert statuses(database) == ["draft"] * 4


async def test_the_ledger_goes_with_the_row(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.add(Post(id=1, publish_at=clock.now(), purge_at=clock.now() + MINUTE))
    await blog.transitions.sweep()
    assert database.rows("SELECT row_key FROM duetime_transitions") == [("1",)]
    clock.advance(minutes=1)
    await blog.transitions.sweep()
    assert database.rows("SELECT row_key FROM duetime_transitions") == []


async def test_the_first_sweep_makes_the_ledger(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    database.do("DROP TABLE duetime_transitions")
    database.add(Post(id=1, publish_at=clock.now()))
    assert (await blog.transitions.sweep()).updated == 1
    database.do("DROP TABLE duetime_transitions")
    database.add(Post(id=2, publish_at=clock.now()))
    assert len((await blog.transitions.sweep()).errors) == 7
    assert (await blog.transitions.sweep()).updated == 1


async def test_times_at_the_ends_of_the_calendar(blog: Duetime, database: ModelDatabase) -> None:
    far, past = datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 3, tzinfo=UTC)
    database.add(Post(id=1, publish_at=far), Post(id=2, publish_at=past))
    if database.on_postgres:
        database.do("INSERT INTO posts (id, title, publish_at) VALUES (3, '', 'infinity')")
        database.do("INSERT INTO posts (id, title, publish_at) VALUES (4, '', '-infinity')")
    assert (await blog.transitions.sweep()).updated == 1


@pytest.mark.parametrize("kind", ON_POSTGRES)
async def test_a_row_that_cannot_be_deleted_is_reported(
    blog: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """A row that others refer to, among many that nothing refers to."""
    database.add(*(Post(id=n, purge_at=clock.now()) for n in range(500)))
    database.add(Comment(id=1, post_id=250))
    report = await blog.transitions.sweep()
    assert (report.deleted, report.failed) == (499, 1)
    (error,) = report.errors
    assert (error.id, error.attempts, error.parked) == (250, 1, False)
    assert "ForeignKeyViolation" in error.error
