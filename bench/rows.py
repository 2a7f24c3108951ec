"""Trials of row transitions, in a table of two million rows, half of them applied long ago,
compared with hand-written code on the same rows."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, create_engine, event, func, select, text, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from trial import Goal, Spot, Take, Trial

from duetime.app import Duetime
from duetime.bench.figures import RoundFigures, lateness_figures
from duetime.transitions import transition

ROWS, DUE = 2_000_000, 100_000
BATCH = 500
TIMEOUT_SECONDS = 60.0
HAND_WRITTEN = text(
    "UPDATE posts SET status = 'published' WHERE id IN (SELECT id FROM posts WHERE publish_at <= "
    "now() AND status = 'draft' ORDER BY publish_at LIMIT :batch FOR UPDATE SKIP LOCKED)"
)


class Base(DeclarativeBase):
    pass


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    status: Mapped[str]
    publish_at: Mapped[datetime | None] = transition(
        set_field="status", from_="draft", to="published"
    )


@contextmanager
def filled(spot: Spot) -> Iterator[Engine]:
    engine = create_engine(spot.url.replace("postgresql:", "postgresql+psycopg:", 1))
    try:
        fill(engine, spot.count(ROWS))
        yield engine
    finally:
        engine.dispose()


def fill(engine: Engine, rows: int) -> None:
    """Insert rows: half are past and applied, the others are drafts for next year."""
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO posts (id, title, status, publish_at) SELECT n, 'title ' || n, "
                "CASE WHEN n <= :half THEN 'published' ELSE 'draft' END, CASE WHEN n <= :half "
                "THEN now() - n * interval '1 second' ELSE now() + interval '1 year' + "
                "n * interval '1 second' END FROM generate_series(1, :rows) AS n"
            ),
            {"half": rows // 2, "rows": rows},
        )
        connection.execute(
            text(
                "INSERT INTO duetime_transitions (table_name, column_name, row_key, value, "
                "applied_at, attempts) SELECT 'posts', 'publish_at', id, publish_at, now(), 0 "
                "FROM posts WHERE status = 'published'"
            )
        )
    tidy(engine)


def arm(engine: Engine, rows: int, due: int) -> None:
    """Make `due` rows due, each with its own value."""
    change = text(
        "UPDATE posts SET status = 'draft', publish_at = clock_timestamp() - "
        "(:rows - id) * interval '1 microsecond' WHERE id > :rows - :due"
    )
    with engine.begin() as connection:
        connection.execute(change, {"rows": rows, "due": due})
    tidy(engine)


def tidy(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in ("posts", "duetime_transitions"):
            connection.execute(text(f"VACUUM ANALYZE {table}"))
        connection.execute(text("CHECKPOINT"))


def by_hand_in_bulk(engine: Engine) -> int:
    done = 0
    while True:
        with engine.begin() as connection:
            changed = connection.execute(HAND_WRITTEN, {"batch": BATCH}).rowcount
        if not changed:
            return done
        done += changed


def by_hand_with_the_orm(engine: Engine) -> int:
    done = 0
    due = (
        select(Post)
        .where(Post.publish_at <= func.now(), Post.status == "draft")
        .order_by(Post.publish_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    while True:
        with Session(engine) as session, session.begin():
            posts = session.scalars(due).all()
            for post in posts:
                post.status = "published"
        if not posts:
            return done
        done += len(posts)


# -- how many a second ---------------------------------------------------------------


async def rates(spot: Spot) -> RoundFigures:
    """Apply many due rows by duetime, and by hand without ledger, hooks or care for bad rows."""
    found: dict[str, float] = {}
    with filled(spot) as engine:
        for name, (ours, hand) in WAYS.items():
            theirs, mine = await rate(engine, spot, hand), await rate(engine, spot, ours)
            found |= {f"{name} /s": mine, f"{name} by hand /s": theirs, f"{name} x": mine / theirs}
    return found


async def rate(engine: Engine, spot: Spot, work: Work) -> float:
    due = spot.count(DUE)
    arm(engine, spot.count(ROWS), due)
    began = time.perf_counter()
    done = await work(engine)
    took = time.perf_counter() - began
    assert done == due, f"{done} of {due}"
    return done / took


def by_us(bulk: bool) -> Work:
    async def work(engine: Engine) -> int:
        async with Duetime("memory://") as app:
            app.transitions.register(Base, engine, batch=BATCH, bulk=bulk)
            return (await app.transitions.drain()).updated

    return work


def by_hand(work: Callable[[Engine], int]) -> Work:
    """Run in a thread, as duetime does with a blocking engine."""
    return lambda engine: asyncio.to_thread(work, engine)


Work = Callable[[Engine], Awaitable[int]]
WAYS: Mapping[str, tuple[Work, Work]] = {
    "bulk": (by_us(True), by_hand(by_hand_in_bulk)),
    "ORM": (by_us(False), by_hand(by_hand_with_the_orm)),
}

# -- nothing due ---------------------------------------------------------------------


async def idle(spot: Spot) -> RoundFigures:
    """Measure a sweep: its time in the database, and its whole time."""
    times = max(5, spot.count(200))
    with filled(spot) as engine:
        async with Duetime("memory://") as app:
            app.transitions.register(Base, engine)
            await app.transitions.sweep()
            with timed(engine) as spent:
                taken = [await swept(app, spent) for _ in range(times)]
    inside, whole = zip(*taken, strict=True)
    return {
        "database ms": 1000 * statistics.median(inside),
        "whole ms": 1000 * statistics.median(whole),
    }


async def swept(app: Duetime, spent: list[float]) -> tuple[float, float]:
    spent.clear()
    began = time.perf_counter()
    await app.transitions.sweep()
    return sum(spent), time.perf_counter() - began


@contextmanager
def timed(engine: Engine) -> Iterator[list[float]]:
    """Record the seconds of each statement."""
    spent: list[float] = []

    def before(connection: Any, *_: object) -> None:
        connection.info["began"] = time.perf_counter()

    def after(connection: Any, *_: object) -> None:
        spent.append(time.perf_counter() - connection.info["began"])

    hooks = [("before_cursor_execute", before), ("after_cursor_execute", after)]
    for name, hook in hooks:
        event.listen(engine, name, hook)
    try:
        yield spent
    finally:
        for name, hook in hooks:
            event.remove(engine, name, hook)


# -- on time -------------------------------------------------------------------------


def lateness(known: bool) -> Take:
    """Measure how late changes are committed. Values are spread over ten seconds: known at the last
    sweep, or committed one by one while the runner runs."""

    async def take(spot: Spot) -> RoundFigures:
        with filled(spot) as engine:
            return lateness_figures(await late(engine, spot, known))

    return take


async def late(engine: Engine, spot: Spot, known: bool) -> list[float]:
    count = spot.count(200)
    gap = spot.seconds(10) / count
    dues: dict[int, float] = {}
    found: list[float] = []
    done = asyncio.Event()

    async def published(model: object, id: int, field: str, to: str) -> None:
        found.append(time.time() - dues[id])
        if len(found) == count:
            done.set()

    def set_due(id: int, after: float) -> None:
        at = datetime.now(UTC) + timedelta(seconds=after)
        dues[id] = at.timestamp()
        with engine.begin() as connection:
            change = update(Post).where(Post.id == id)
            connection.execute(change.values(status="draft", publish_at=at))

    if known:
        for id in range(1, count + 1):
            set_due(id, 2 + gap * id)
    async with Duetime("memory://") as app:
        app.transitions.register(Base, engine, on_set_field=published)
        async with app.transitions.runner(), asyncio.timeout(TIMEOUT_SECONDS):
            for id in range(1, 0 if known else count + 1):
                await asyncio.to_thread(set_due, id, 0.5)
                await asyncio.sleep(gap)
            await done.wait()
    return found


P99 = "p99 ms"
RATES = Trial(
    "rows",
    "row transitions: 100,000 due among 2 million rows",
    {"duetime": rates},
    [
        Goal("bulk 0.35 x a batched UPDATE by hand", ("duetime", "bulk x"), 0.35),
        Goal("ORM 0.5 x a loop of the ORM by hand", ("duetime", "ORM x"), 0.5),
    ],
)
IDLE = Trial(
    "rows-idle",
    "a sweep of row transitions, nothing due among 2 million rows",
    {"duetime": idle},
    [Goal("2 ms in the database", ("duetime", "database ms"), 2.0, most=True)],
    rounds=1,
)
LATENESS = Trial(
    "rows-late",
    "200 row transitions over 10 s: how late they are committed",
    {"known before": lateness(True), "just committed": lateness(False)},
    [
        Goal("known before: p99 50 ms", ("known before", P99), 50.0, most=True),
        Goal("just committed: p99 50 ms", ("just committed", P99), 50.0, most=True),
    ],
    rounds=1,
)
TRIALS = [RATES, IDLE, LATENESS]
