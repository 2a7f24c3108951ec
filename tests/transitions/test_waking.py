"""A commit in one process wakes runners in another one, which would otherwise sleep for an hour."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session

from duetime import Duetime
from duetime.events.types import TransitionApplied
from duetime.model.lane import row_lane
from duetime.store.sql.statements.table_names import TableNames
from duetime.transitions import runner as runner_module
from duetime.transitions.hint_throttle import HintThrottle
from patching import planted
from polling import until
from transitions import web_process
from transitions.engines import ModelDatabase
from transitions.models import Base, Post

TESTS = Path(__file__).parents[1]
MAKING_DUE = ["add", "change", "bulk_insert", "bulk_update", "sql", "guard"]
LANE = row_lane("posts")


class WebProcess:
    """A process with the same models, which never sweeps."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def write(self, way: str, id: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{way} {id}\n".encode())
        await self.expect("committed")

    async def expect(self, answer: str) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(30):
            assert (await self._process.stdout.readline()).decode().strip() == answer


@asynccontextmanager
async def web(kind: str, url: str, store: str) -> AsyncIterator[WebProcess]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, web_process.__file__, kind, url, store),
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    try:
        found = WebProcess(process)
        await found.expect("ready")
        yield found
    finally:
        process.stdin.close()
        assert await process.wait() == 0


@pytest.fixture
async def applied(database: ModelDatabase) -> AsyncIterator[asyncio.Queue[TransitionApplied]]:
    """What a worker of this process, on the database's own store, applies."""
    events: asyncio.Queue[TransitionApplied] = asyncio.Queue()
    async with Duetime(database.url) as app:
        app.transitions.register(Base, database.engine, interval=3600)
        app.on(TransitionApplied, events.put_nowait)
        # The first pass comes at the start.
        database.add(Post(id=1000, publish_at=datetime.now(UTC)))
        async with app.worker():
            async with asyncio.timeout(60):
                await events.get()
            yield events


async def test_a_commit_of_another_process_is_applied_at_once(
    database: ModelDatabase, applied: asyncio.Queue[TransitionApplied], kind: str
) -> None:
    late = datetime.now(UTC) - timedelta(seconds=5)
    database.add(
        *(Post(id=10 * n, status="draft") for n, way in enumerate(MAKING_DUE) if way != "guard"),
        Post(id=10 * MAKING_DUE.index("guard"), status="in review", publish_at=late),
    )
    async with web(kind, database.url, database.url) as other, asyncio.timeout(60):
        for number, way in enumerate(MAKING_DUE):
            if way in ("add", "bulk_insert"):
                database.do("DELETE FROM posts WHERE id = :id", id=10 * number)
            await other.write(way, 10 * number)
            assert (await applied.get()).id == 10 * number, way


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_so_it_is_by_a_runner_without_a_worker(database: ModelDatabase, kind: str) -> None:
    events: asyncio.Queue[TransitionApplied] = asyncio.Queue()
    async with Duetime(database.url) as app:
        app.transitions.register(Base, database.engine, interval=3600)
        app.on(TransitionApplied, events.put_nowait)
        database.add(Post(id=1, publish_at=datetime.now(UTC)))
        async with app.transitions.runner(), asyncio.timeout(60):
            await events.get()
            async with web(kind, database.url, database.url) as other:
                await other.write("add", 2)
                assert (await events.get()).id == 2


@pytest.mark.parametrize("kind", ["pysqlite"])
async def test_rows_in_another_file_than_the_store(
    database: ModelDatabase, tmp_path: Path, kind: str
) -> None:
    """Not in WAL mode: a commit changes the file itself."""
    events: asyncio.Queue[TransitionApplied] = asyncio.Queue()
    store = f"sqlite:///{tmp_path}/store.db"
    async with Duetime(store) as app:
        app.transitions.register(Base, database.engine, interval=3600)
        app.on(TransitionApplied, events.put_nowait)
        database.add(Post(id=1, publish_at=datetime.now(UTC)))
        async with app.worker(), asyncio.timeout(60):
            await events.get()
            async with web(kind, database.url, store) as other:
                await other.write("add", 2)
                assert (await events.get()).id == 2


# -- what is sent ----------------------------------------------------------------------


class Channel:
    """All messages on the channel of a store, as a stranger reads them."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(f"LISTEN {TableNames().channel}".encode())
        self._url = url

    def messages(self) -> list[str]:
        """All messages that were sent until now; another one is sent to know the last of them."""
        with psycopg.connect(self._url, autocommit=True) as other:
            other.execute(f"NOTIFY {TableNames().channel}, 'last'".encode())
        found: list[str] = []
        for notify in self._connection.notifies(timeout=20):
            if notify.payload == "last":
                return found
            found.append(notify.payload)
        raise AssertionError("the last message did not come")

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def channel(postgres_url: str) -> Iterator[Channel]:
    channel = Channel(postgres_url)
    yield channel
    channel.close()


@pytest.fixture
async def sender(database: ModelDatabase, postgres_url: str) -> AsyncIterator[Duetime]:
    """An app that has registered the models, and runs nothing."""
    async with Duetime(postgres_url) as app:
        app.transitions.register(Base, database.engine)
        yield app


async def in_session(
    database: ModelDatabase, work: Callable[[Session], object], commit: bool = True
) -> None:
    """By the engine that was registered."""
    if isinstance(database.engine, AsyncEngine):
        from sqlalchemy.ext.asyncio import AsyncSession

        async with AsyncSession(database.engine) as session:
            await session.run_sync(work)
            await (session.commit() if commit else session.rollback())
    else:
        with Session(database.engine) as blocking:
            work(blocking)
            blocking.commit() if commit else blocking.rollback()


async def sent_until_quiet(app: Duetime, channel: Channel) -> list[str]:
    """The messages, once the sender's thread has ended."""
    sender = app.transitions._wake_sender
    assert sender is not None
    await until(lambda: sender._thread is None)
    return await asyncio.to_thread(channel.messages)


on_postgres = pytest.mark.parametrize("kind", ["psycopg", "psycopg2", "psycopg_async", "asyncpg"])


@on_postgres
async def test_one_notice_after_each_commit(
    sender: Duetime, database: ModelDatabase, channel: Channel
) -> None:
    async def add_some(session_id: int, commit: bool) -> None:
        def work(session: Session) -> None:
            for n in range(3):
                session.add(Post(id=10 * session_id + n, publish_at=datetime.now(UTC)))
                session.flush()
            assert channel.messages() == []

        await in_session(database, work, commit)

    await add_some(1, commit=True)
    (message,) = await sent_until_quiet(sender, channel)
    assert f'"due":[["{LANE}",0]]' in message
    await add_some(2, commit=False)
    assert await sent_until_quiet(sender, channel) == []


@pytest.mark.parametrize("way", ["title", "title_by_time", "no_time", "delete"])
@on_postgres
async def test_nothing_for_rows_whose_times_were_not_touched(
    sender: Duetime, database: ModelDatabase, channel: Channel, way: str
) -> None:
    database.add(Post(id=1, publish_at=datetime.now(UTC)))
    number = 2 if way == "no_time" else 1
    await in_session(database, lambda session: web_process.WAYS[way](session, number))
    await in_session(database, lambda session: session.scalars(select(Post.publish_at)).all())
    assert await sent_until_quiet(sender, channel) == []


def in_a_savepoint(connection: Connection, *, rolled_back: bool) -> None:
    savepoint = connection.begin_nested()
    connection.execute(insert(Post).values(id=5, status="draft", publish_at=datetime.now(UTC)))
    savepoint.rollback() if rolled_back else savepoint.commit()


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_nothing_for_what_was_rolled_back_to_a_savepoint(
    sender: Duetime, database: ModelDatabase, channel: Channel
) -> None:
    engine = blocking(database)
    with engine.begin() as connection:
        in_a_savepoint(connection, rolled_back=True)
    assert await sent_until_quiet(sender, channel) == []
    with engine.begin() as connection:
        in_a_savepoint(connection, rolled_back=True)
        in_a_savepoint(connection, rolled_back=False)
        connection.begin_nested().rollback()
    assert len(await sent_until_quiet(sender, channel)) == 1
    with engine.begin() as connection:
        connection.execute(update(Post).values(publish_at=datetime.now(UTC)))
        in_a_savepoint_of_another(connection)
    assert len(await sent_until_quiet(sender, channel)) == 1


def in_a_savepoint_of_another(connection: Connection) -> None:
    outer = connection.begin_nested()
    connection.begin_nested().rollback()
    outer.rollback()


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_nothing_for_two_phases_that_were_rolled_back(
    sender: Duetime, database: ModelDatabase, channel: Channel
) -> None:
    with blocking(database).connect() as connection:
        transaction = connection.begin_twophase()
        connection.execute(insert(Post).values(id=5, status="draft", publish_at=datetime.now(UTC)))
        transaction.rollback()
    assert await sent_until_quiet(sender, channel) == []


def blocking(database: ModelDatabase) -> Engine:
    assert isinstance(database.engine, Engine)
    return database.engine


@on_postgres
async def test_nothing_for_what_a_sweep_changes(
    sender: Duetime, database: ModelDatabase, channel: Channel
) -> None:
    database.add(Post(id=1, publish_at=datetime.now(UTC) - timedelta(days=1)))
    assert (await sender.transitions.sweep()).updated == 1
    assert await sent_until_quiet(sender, channel) == []


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_many_commits_share_notices(
    sender: Duetime, database: ModelDatabase, channel: Channel
) -> None:
    for number in range(100):
        await in_session(database, lambda session, n=number: web_process.add(session, n))  # type: ignore[misc]
    assert 1 <= len(await sent_until_quiet(sender, channel)) < 100


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_a_store_that_is_away_delays_no_commit(
    database: ModelDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing listens at its port; of many failures one is logged."""
    async with Duetime("postgresql://nobody@127.0.0.1:1/gone", timeout=5) as app:
        app.transitions.register(Base, database.engine)
        for number in range(20):
            await in_session(database, lambda session, n=number: web_process.add(session, n))  # type: ignore[misc]
        sender = app.transitions._wake_sender
        assert sender is not None
        await until(lambda: sender._thread is None)
    lines = [r for r in caplog.records if "other processes are not woken" in r.getMessage()]
    assert len(lines) == 1
    assert database.rows("SELECT count(*) FROM posts") == [(20,)]


# -- what is received --------------------------------------------------------------------


@contextmanager
def counted_passes() -> Iterator[list[float]]:
    """The passes of all runners."""
    passes: list[float] = []
    step = runner_module.SweepLoop._step

    async def counted(self: Any) -> float:
        passes.append(1)
        return await step(self)

    with planted([(runner_module.SweepLoop, "_step", counted)]):
        yield passes


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_forged_notices_cause_few_passes(database: ModelDatabase, kind: str) -> None:
    events: asyncio.Queue[TransitionApplied] = asyncio.Queue()
    with counted_passes() as passes:
        async with Duetime(database.url) as app:
            app.transitions.register(Base, database.engine, interval=3600)
            app.on(TransitionApplied, events.put_nowait)
            database.add(Post(id=1, publish_at=datetime.now(UTC)))
            async with app.worker() as worker, asyncio.timeout(60):
                await events.get()
                (runner,) = worker._companions
                del passes[:]
                for _ in range(300):
                    worker._woken([wake_of(LANE)])
                    await asyncio.sleep(0)
                assert len(passes) <= 2
                del passes[:]
                other = row_lane("of_another_app")
                for _ in range(300):
                    worker._woken([wake_of(other)])
                    await asyncio.sleep(0)
                assert len(passes) <= 1
                assert isinstance(runner, runner_module.TransitionRunner)


def wake_of(lane: str) -> Any:
    from duetime.store.flow import Wake

    return Wake(lane, 0, 0)


async def test_wrong_hints_wait_once_their_time_is_used_up() -> None:
    now = 100.0
    throttle = HintThrottle(lambda: now)

    async def hinted_pass(seconds: float, *, wrong: bool = True) -> None:
        woken = asyncio.Event()
        throttle.take(woken.set)
        throttle.take(woken.set)
        await woken.wait()
        throttle.pass_began()
        if wrong:
            throttle.proved_wrong(seconds)

    for _ in range(5):
        assert throttle.delay() == 0
        await hinted_pass(0.1)
    assert throttle.delay() == 0
    await hinted_pass(0.01)
    assert throttle.delay() == pytest.approx(0.2)
    now += 0.2
    assert throttle.delay() == pytest.approx(0)
    now += 1.0
    await hinted_pass(10, wrong=False)
    assert throttle.delay() == 0
    # A pass that came by itself says nothing about hints.
    throttle.pass_began()
    throttle.proved_wrong(1000)
    assert throttle.delay() == 0
    throttle.stop()
