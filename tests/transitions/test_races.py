"""Concurrent changes of the same rows."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.orm import Session

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import apply, change_rows
from duetime.transitions.locking import begin_writing
from duetime.transitions.target import Target
from patching import planted
from transitions import versioned_app
from transitions.engines import ON_POSTGRES, ModelDatabase, with_driver
from transitions.models import Base, Post
from transitions.test_versioned import sessions_of
from transitions.versioned_app import Article, History, articles_with_duplicate_history

postgres = pytest.mark.parametrize("kind", ON_POSTGRES)


@contextmanager
def meanwhile(database: ModelDatabase, sql: str, **params: object) -> Iterator[None]:
    """Commit a change after due rows were read, before they are locked."""

    def then_begin(session: Session, target: Target) -> None:
        database.do(sql, **params)
        begin_writing(session, target)

    with planted([(apply, "begin_writing", then_begin)]):
        yield


EDITS = {
    "edited": "UPDATE posts SET status = 'review' WHERE id = 1",
    "gone": "DELETE FROM posts WHERE id = 1",
    "deleted softly": "UPDATE posts SET deleted_at = publish_at WHERE id = 1",
    "put off": "UPDATE posts SET publish_at = :later WHERE id = 1",
    "called off": "UPDATE posts SET publish_at = NULL WHERE id = 1",
}


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("edit", EDITS)
async def test_what_changed_meanwhile_is_left_alone(
    app: Duetime, database: ModelDatabase, clock: FakeClock, edit: str, bulk: bool
) -> None:
    app.transitions.register(Base, database.engine, bulk=bulk)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    later: Any = clock.now() + timedelta(hours=1)
    params = {"later": later if database.on_postgres else f"{later:%Y-%m-%d %H:%M:%S.%f}"}
    with meanwhile(database, EDITS[edit], **(params if ":later" in EDITS[edit] else {})):
        report = await app.transitions.sweep()
    assert (report.updated, report.skipped, report.failed) == (2, 1, 0)
    assert database.rows("SELECT count(*) FROM posts WHERE status = 'published'") == [(2,)]
    assert len(database.rows("SELECT row_key FROM duetime_transitions")) == 2


@postgres
@pytest.mark.parametrize("bulk", [False, True])
async def test_a_locked_row_holds_up_no_other(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    app.transitions.register(Base, database.engine, bulk=bulk)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(500)))
    with database.sync_engine.begin() as other:
        other.execute(text("UPDATE posts SET title = 'mine' WHERE id = 250"))
        report = await app.transitions.sweep()
        assert (report.updated, report.skipped) == (499, 1)
    assert (await app.transitions.sweep()).updated == 1


@postgres
@pytest.mark.parametrize("bulk", [False, True])
async def test_who_only_refers_to_a_row_is_in_nobodys_way(
    app: Duetime, database: ModelDatabase, clock: FakeClock, bulk: bool
) -> None:
    """A comment is being written: its post can be published, and not be removed."""
    app.transitions.register(Base, database.engine, bulk=bulk)
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    with database.sync_engine.begin() as other:
        other.execute(text("INSERT INTO comments (id, post_id) VALUES (1, 1)"))
        assert (await app.transitions.sweep()).updated == 3
        database.do("UPDATE posts SET purge_at = publish_at")
        report = await app.transitions.sweep()
        assert (report.deleted, report.skipped) == (2, 1)


@postgres
async def test_a_sweep_that_read_before_another_committed_applies_nothing_again(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """The other applied it, and a user has undone it since: the row looks as it did."""
    app.transitions.register(Base, database.engine)
    other = Duetime("memory://", clock=clock)
    other.transitions.register(Base, database.sync_engine)
    database.add(Post(id=1, publish_at=clock.now()))
    real = change_rows.claim
    first = True

    def claim(*args: Any) -> dict[str, int]:
        nonlocal first
        if first:
            first = False
            # As if all this had been committed between our snapshot and our lock.
            database.do(
                "INSERT INTO duetime_transitions (table_name, column_name, row_key, value, "
                "applied_at, attempts) SELECT 'posts', 'publish_at', '1', :at, :at, 0",
                at=clock.now(),
            )
        return real(*args)

    with planted([(change_rows, "claim", claim)]):
        report = await app.transitions.sweep()
    assert (report.updated, report.skipped) == (0, 1)
    assert database.rows("SELECT status FROM posts") == [("draft",)]


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_two_runners_do_each_row_once(database: ModelDatabase, clock: FakeClock) -> None:
    versioned_app.Base.metadata.create_all(database.sync_engine)
    database.add(*(Article(id=n, publish_at=clock.now()) for n in range(1000)))
    url = with_driver(database.url, "psycopg")
    apps = [Duetime("memory://", clock=clock) for _ in range(2)]
    engines = [create_engine(url) for _ in apps]
    for app, engine in zip(apps, engines, strict=True):
        app.transitions.register(
            versioned_app.Base, versioned_app.versioned_sessions(engine), batch=20
        )

    async def drain(app: Duetime) -> int:
        changed = 0
        while (report := await app.transitions.sweep()).changed or report.skipped:
            changed += report.changed
            assert report.errors == []
        return changed

    shares = await asyncio.gather(*(drain(app) for app in apps))
    for engine in engines:
        engine.dispose()
    assert sum(shares) == 1000
    assert_exact(database, 1000)


@pytest.mark.parametrize("kind", ["psycopg", "psycopg2", "asyncpg"])
@pytest.mark.parametrize("bulk", [False, True])
async def test_two_that_run_by_themselves_do_each_row_once(
    database: ModelDatabase, bulk: bool
) -> None:
    """Each on an engine of its own, of that kind, in real time."""
    versioned_app.Base.metadata.create_all(database.sync_engine)
    due = FakeClock().now().replace(year=2020)
    database.add(*(Article(id=n, publish_at=due) for n in range(1000)))
    received: list[list[object]] = [[], []]
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        for ids in received:
            other = ModelDatabase(database.kind, database.url)
            stack.push_async_callback(other.close)

            def note(model: type[Any], id: int, *_: object, ids: list[object] = ids) -> None:
                ids.append(id)
                if sum(map(len, received)) == 1000:
                    loop.call_soon_threadsafe(done.set)

            app = await stack.enter_async_context(Duetime("memory://"))
            app.transitions.register(
                versioned_app.Base, sessions_of(other), batch=20, bulk=bulk, on_set_field=note
            )
            await stack.enter_async_context(app.transitions.runner())
        async with asyncio.timeout(60):
            await done.wait()
    assert sorted(received[0] + received[1], key=str) == sorted(range(1000), key=str)
    assert_exact(database, 1000, history=0 if bulk else 1000)


def assert_exact(database: ModelDatabase, count: int, history: int | None = None) -> None:
    lines = count if history is None else history
    with Session(database.sync_engine) as session:
        assert session.scalar(select(func.count()).select_from(History)) == lines
        assert session.scalar(articles_with_duplicate_history()) == 0
        published = select(func.count()).where(Article.status == "published")
        assert session.scalar(published) == count
    applied = "SELECT count(*) FROM duetime_transitions WHERE applied_at IS NOT NULL"
    assert database.rows(applied) == [(count,)]


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_killed_in_the_middle_of_a_batch(database: ModelDatabase) -> None:
    """All of the batch or nothing: what the killed one had done is done once by the next."""
    kill_in_mid_batch(database)


def kill_in_mid_batch(database: ModelDatabase, *plant: str) -> None:
    versioned_app.Base.metadata.create_all(database.sync_engine)
    ((now,),) = database.rows("SELECT CURRENT_TIMESTAMP") if database.on_postgres else [(None,)]
    due = now or FakeClock().now().replace(year=2020)
    database.add(*(Article(id=n, publish_at=due) for n in range(120)))
    url = with_driver(database.url, "psycopg" if database.on_postgres else "pysqlite")
    with working(url, "75", *plant) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "halted\n"
        child.send_signal(signal.SIGKILL)
    assert database.rows("SELECT count(*) FROM history") == [(50,)]
    with working(url) as child:
        output, _ = child.communicate(timeout=60)
        assert output.endswith("done\n")
    assert_exact(database, 120)


@contextmanager
def working(url: str, *more: str) -> Iterator["subprocess.Popen[str]"]:
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-m", "transitions.versioned_app", url, *more]
    environment = {**os.environ, "PYTHONPATH": str(tests)}
    with subprocess.Popen(
        command, cwd=tests, stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            yield child
        finally:
            child.kill()
