"""The runner: alone, in a worker, as a job, from a foreign queue; and on time."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text, update
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from duetime import Duetime, Outcome
from duetime.errors import ConfigError, SweepFailed
from duetime.events.types import TransitionApplied
from duetime.testing import FakeClock
from duetime.transitions import apply, sweeper
from patching import planted
from polling import until
from transitions.engines import KINDS, ModelDatabase
from transitions.models import Base, Post
from transitions.reminders import Base as Visits

BLOCKING = [kind for kind in KINDS if kind in ("pysqlite", "psycopg", "psycopg2")]


class ReceivedEvents:
    """Events as they come, with how late they were."""

    def __init__(self, app: Duetime) -> None:
        self._queue: asyncio.Queue[tuple[object, float]] = asyncio.Queue()
        app.on(TransitionApplied, self._note)

    def _note(self, event: TransitionApplied) -> None:
        late = time.time() - event.due_at.timestamp()
        self._queue.put_nowait((event.id, late))

    async def next(self) -> tuple[object, float]:
        async with asyncio.timeout(20):
            return await self._queue.get()


@pytest.fixture
async def real(database: ModelDatabase) -> AsyncIterator[Duetime]:
    """An app in real time, whose runner looks by itself once an hour only."""
    async with Duetime("memory://") as app:
        app.transitions.register(Base, database.engine, interval=3600)
        yield app


def soon(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


async def commit(database: ModelDatabase, post: Post) -> None:
    """By the engine that was registered."""
    if isinstance(database.engine, AsyncEngine):
        async with AsyncSession(database.engine) as session:
            session.add(post)
            await session.commit()
    else:
        with Session(database.engine) as session:
            session.add(post)
            session.commit()


async def test_the_first_pass_comes_at_once(real: Duetime, database: ModelDatabase) -> None:
    received = ReceivedEvents(real)
    database.add(Post(id=1, publish_at=soon(-1)))
    async with real.transitions.runner():
        assert (await received.next())[0] == 1


async def test_it_wakes_for_the_next_value(real: Duetime, database: ModelDatabase) -> None:
    received = ReceivedEvents(real)
    # Values that are due in the same pass come in the order of their declaration: on a busy machine
    # a pass may be seconds late.
    database.add(Post(id=1, publish_at=soon(4)), Post(id=2, purge_at=soon(1)))
    async with real.transitions.runner():
        found = [await received.next(), await received.next()]
    assert [id for id, _ in found] == [2, 1]
    assert all(0 <= late < 5 for _, late in found)


async def test_a_commit_that_sets_a_nearer_value_wakes_it(
    real: Duetime, database: ModelDatabase
) -> None:
    received = ReceivedEvents(real)
    database.add(Post(id=1, publish_at=soon(-1)))
    async with real.transitions.runner():
        await received.next()
        await commit(database, Post(id=2, publish_at=soon(0.2)))
        id, late = await received.next()
    assert id == 2
    assert 0 <= late < 5


async def test_so_does_a_statement_on_a_connection_that_stays_open(
    real: Duetime, database: ModelDatabase
) -> None:
    received = ReceivedEvents(real)
    database.add(Post(id=1, publish_at=soon(-1)), Post(id=2))
    change = update(Post).where(Post.id == 2).values(publish_at=soon(-1))
    async with real.transitions.runner():
        await received.next()
        if isinstance(database.engine, AsyncEngine):
            async with database.engine.connect() as connection:
                await connection.execute(change)
                await connection.commit()
                assert (await received.next())[0] == 2
        else:
            with database.engine.connect() as blocking:
                blocking.execute(change)
                blocking.commit()
                assert (await received.next())[0] == 2


async def test_a_backlog_is_done_without_waiting(database: ModelDatabase) -> None:
    async with Duetime("memory://") as app:
        app.transitions.register(Base, database.engine, interval=3600, batch=10)
        received = ReceivedEvents(app)
        database.add(*(Post(id=n, publish_at=soon(-100 + n)) for n in range(55)))
        async with app.transitions.runner():
            ids = [(await received.next())[0] for _ in range(55)]
    assert ids == list(range(55))


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_a_locked_row_is_tried_again_soon(real: Duetime, database: ModelDatabase) -> None:
    received = ReceivedEvents(real)
    database.add(Post(id=1, publish_at=soon(-2)), Post(id=2, publish_at=soon(-1)))
    with database.sync_engine.begin() as other:
        other.execute(text("SELECT 1 FROM posts WHERE id = 1 FOR UPDATE"))
        async with real.transitions.runner():
            assert (await received.next())[0] == 2
            other.rollback()
            assert (await received.next())[0] == 1


async def test_started_twice_it_runs_once_and_its_end_is_waited_for(
    real: Duetime, database: ModelDatabase
) -> None:
    passes = 0
    reached, finished = asyncio.Event(), False
    loop = asyncio.get_running_loop()

    def counted(session: Session, batch: Any) -> Any:
        nonlocal passes, finished
        passes += batch.target.column.name == "publish_at"
        loop.call_soon_threadsafe(reached.set)
        result = apply.apply_due(session, batch)
        finished = True
        return result

    with planted([(sweeper, "apply_due", counted)]):
        runner = real.transitions.runner()
        await runner.start()
        await runner.start()
        await reached.wait()
        await runner.stop()
        assert (passes, finished) == (1, True)
        await runner.stop()
        await runner.start()
        await runner.stop()


async def test_in_the_worker(database: ModelDatabase) -> None:
    async with Duetime("memory://") as app:
        app.transitions.register(Base, database.engine, interval=3600)
        received = ReceivedEvents(app)
        async with app.worker():
            await commit(database, Post(id=1, publish_at=soon(-1)))
            assert (await received.next())[0] == 1


async def test_it_follows_the_clock_of_a_test(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Base, database.engine, interval=3600)
    events: asyncio.Queue[TransitionApplied] = asyncio.Queue()
    app.on(TransitionApplied, events.put_nowait)
    database.add(Post(id=1, publish_at=clock.now() + timedelta(days=30)))
    async with app.transitions.runner(), asyncio.timeout(20):
        clock.advance(days=30)
        assert (await events.get()).id == 1


class LogLines(logging.Handler):
    """The records of duetime's loggers: level and message, and whether there is a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self.tracebacks = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.getMessage()}")
        self.tracebacks += record.exc_info is not None or record.exc_text is not None

    def beginning(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]


@pytest.fixture
def log() -> Iterator[LogLines]:
    handler, logger = LogLines(), logging.getLogger("duetime")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


class CountedConnects:
    """How often an engine tried to connect."""

    def __init__(self, engine: Engine | AsyncEngine) -> None:
        self.tries = 0
        self._engine = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
        event.listen(self._engine, "do_connect", self._count)

    def _count(self, *_: Any) -> None:
        self.tries += 1


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_an_outage_is_logged_at_its_begin_and_end_only(
    private_postgres: Any, kind: str, log: LogLines
) -> None:
    """Seven transitions; commits during the outage do not cut the pauses between passes short."""
    server = private_postgres()
    database = ModelDatabase(kind, server.database_url("postgres"))
    database.make_tables()
    async with Duetime("memory://") as app:
        app.transitions.register(Base, database.engine, interval=0.2)
        connects = CountedConnects(database.engine)
        received = ReceivedEvents(app)
        database.add(Post(id=1, publish_at=soon(-1)))
        async with app.transitions.runner() as runner:
            await received.next()
            log.lines.clear()
            before = connects.tries
            server.stop("immediate")
            await until(lambda: connects.tries >= before + 5)
            (loop,) = runner._loops
            for _ in range(100):
                loop._service.wake()
                await asyncio.sleep(0)
            assert connects.tries <= before + 6
            server.start()
            database.sync_engine.dispose()
            await until(lambda: log.beginning("INFO transitions works again, after"))
            database.add(Post(id=2, publish_at=soon(-1)))
            assert (await received.next())[0] == 2
    await database.close()
    failed = log.beginning("WARNING transitions: the database of transitions")
    assert len(failed) == 1
    assert len(log.lines) <= 3
    assert log.tracebacks == 0


async def test_a_missing_table_is_logged_once(
    real: Duetime, database: ModelDatabase, log: LogLines
) -> None:
    received = ReceivedEvents(real)
    database.do('ALTER TABLE "order" RENAME TO hidden')
    database.add(Post(id=1, publish_at=soon(-1)))
    async with real.transitions.runner() as runner:
        await received.next()
        (loop,) = runner._loops
        await until(lambda: loop._backoff._next_pause > 0.3)
        database.do('ALTER TABLE hidden RENAME TO "order"')
        await until(lambda: len(log.beginning("INFO transition Order.")) == 2)
    failed = log.beginning("ERROR transition Order.")
    assert [line.partition(":")[0] for line in failed] == [
        "ERROR transition Order.when failed",
        "ERROR transition Order.end failed",
    ]


@pytest.mark.parametrize("kind", ["pysqlite", "asyncpg"])
async def test_as_a_job(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    app.transitions.register(Base, database.engine, batch=1)
    app.transitions.as_job("* * * * *")
    assert app.transitions.companions == []
    database.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    await app.testing.advance(minutes=1)
    (run,) = await app.jobs.runs("transitions-sweep")
    assert run.outcome is Outcome.succeeded
    assert database.rows("SELECT count(*) FROM posts WHERE status = 'published'") == [(3,)]
    database.do("DROP TABLE posts CASCADE" if database.on_postgres else "DROP TABLE posts")
    await app.testing.advance(minutes=1)
    failed, _ = await app.jobs.runs("transitions-sweep")
    assert failed.outcome in (Outcome.retried, Outcome.failed, None)
    assert "errors in a sweep" in str(failed.error)


@pytest.mark.parametrize("kind", BLOCKING)
def test_from_a_foreign_queue(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    app.transitions.register(Base, database.engine)
    database.add(Post(id=1, publish_at=clock.now()))
    assert app.sync.transitions.sweep().check().updated == 1
    assert [target.due for target in app.sync.transitions.pending()] == [0] * 7
    database.do("DROP TABLE comments")
    database.do("DROP TABLE posts")
    with pytest.raises(SweepFailed, match=r"4 errors in a sweep: Post\.publish_at"):
        app.sync.transitions.sweep().check()


@pytest.mark.parametrize("kind", ["aiosqlite", "asyncpg"])
def test_an_async_engine_does_not_block(app: Duetime, database: ModelDatabase) -> None:
    app.transitions.register(Base, database.engine)
    with pytest.raises(ConfigError, match=r"is an async engine, but app\.sync is blocking"):
        app.sync.transitions.sweep()


@pytest.mark.parametrize("kind", BLOCKING)
@pytest.mark.parametrize("who", ["parent", "sibling", "autocommit"])
async def test_a_commit_by_an_engine_that_shares_its_connections_wakes_it(
    database: ModelDatabase, who: str
) -> None:
    assert isinstance(database.engine, Engine)
    engines = {
        "parent": database.engine,
        "sibling": database.engine.execution_options(some="option"),
        "autocommit": database.engine.execution_options(isolation_level="AUTOCOMMIT"),
    }
    async with Duetime("memory://") as app:
        app.transitions.register(Base, database.engine.execution_options(mine="too"), interval=3600)
        received = ReceivedEvents(app)
        database.add(Post(id=1, publish_at=soon(-1)), Post(id=2))
        async with app.transitions.runner():
            await received.next()
            with engines[who].begin() as connection:
                connection.execute(update(Post).where(Post.id == 2).values(publish_at=soon(-1)))
            assert (await received.next())[0] == 2


@pytest.mark.parametrize("kind", ["psycopg", "asyncpg"])
async def test_a_start_that_is_refused_leaves_nothing_running(
    database: ModelDatabase, database_url: str, private_postgres: Any
) -> None:
    """The first registration can run; the second schedules actions into another database."""
    database.make_tables(Visits)
    name = database_url.rpartition("/")[2].partition("?")[0]
    server = private_postgres()
    server._admin("CREATE DATABASE {}", name)
    async with Duetime(server.database_url(name)) as app:
        app.transitions.register(Base, database.engine)
        app.transitions.register(Visits, database.engine)
        before = asyncio.all_tasks()
        for context in (app.transitions.runner(), app.worker()):
            with pytest.raises(ConfigError, match="one transaction cannot span both"):
                await context.__aenter__()
            left = {task.get_coro().__qualname__ for task in asyncio.all_tasks() - before}  # type: ignore[union-attr]
            assert not any("SweepLoop" in name for name in left)
