"""Row transitions on PostgreSQL: `python bench/rows.py --help`.

Two million rows, a million of them long past and applied. What is measured is compared with what
one would write by hand, on the same rows, in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, func, select, text, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duetime import Duetime
from duetime.transitions import transition

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from servers import NoServer, open_server

BATCH = 500
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


def fill(engine: Engine, rows: int) -> None:
    """Half of them are past and applied, the others are drafts for next year."""
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
    """Make so many of them due, with a value of their own each."""
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


def by_us(engine: Engine, bulk: bool) -> int:
    app = Duetime("memory://")
    app.transitions.register(Base, engine, batch=BATCH, bulk=bulk)
    return asyncio.run(app.transitions.drain()).updated


def rate(engine: Engine, rows: int, due: int, work: Callable[[Engine], int]) -> float:
    arm(engine, rows, due)
    began = time.perf_counter()
    done = work(engine)
    took = time.perf_counter() - began
    assert done == due, f"{done} of {due}"
    return done / took


def idle(engine: Engine, count: int = 200) -> tuple[float, float]:
    """With nothing due: time in the database, and in all, of one sweep; milliseconds."""
    app = Duetime("memory://")
    app.transitions.register(Base, engine)
    spent: list[float] = []

    def before(connection: Any, *_: object) -> None:
        connection.info["began"] = time.perf_counter()

    def after(connection: Any, *_: object) -> None:
        spent.append(time.perf_counter() - connection.info["began"])

    async def sweeps() -> list[tuple[float, float]]:
        await app.transitions.sweep()
        event.listen(engine, "before_cursor_execute", before)
        event.listen(engine, "after_cursor_execute", after)
        taken = []
        for _ in range(count):
            spent.clear()
            began = time.perf_counter()
            await app.transitions.sweep()
            taken.append((sum(spent), time.perf_counter() - began))
        return taken

    try:
        taken = asyncio.run(sweeps())
    finally:
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "after_cursor_execute", after)
    inside, whole = zip(*taken, strict=True)
    return 1000 * statistics.median(inside), 1000 * statistics.median(whole)


async def lateness(engine: Engine, count: int, *, known: bool) -> list[float]:
    """Values spread over ten seconds, known at the last sweep or committed one by one while the
    runner runs; milliseconds until the change is committed."""
    app, late = Duetime("memory://"), list[float]()
    done = asyncio.Event()
    dues: dict[int, float] = {}

    async def published(model: object, id: int, field: str, to: str) -> None:
        late.append(1000 * (time.time() - dues[id]))
        if len(late) == count:
            done.set()

    app.transitions.register(Base, engine, on_set_field=published)

    def set_value(id: int, after: float) -> None:
        at = datetime.now(UTC) + timedelta(seconds=after)
        dues[id] = at.timestamp()
        with engine.begin() as connection:
            change = update(Post).where(Post.id == id)
            connection.execute(change.values(status="draft", publish_at=at))

    gap = 10 / count
    if known:
        for id in range(1, count + 1):
            set_value(id, 2 + gap * id)
    async with app.transitions.runner():
        for id in range(1, 0 if known else count + 1):
            await asyncio.to_thread(set_value, id, 0.5)
            await asyncio.sleep(gap)
        await done.wait()
    return sorted(late)


def shown(late: list[float]) -> str:
    p99 = late[int(len(late) * 0.99) - 1]
    return f"p50 {statistics.median(late):.1f} ms    p99 {p99:.1f} ms    max {late[-1]:.1f} ms"


def measure(url: str, rows: int, due: int) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    fill(engine, rows)
    inside, whole = idle(engine)
    say(f"nothing due, {rows // 2:,} applied: {inside:.2f} ms in the database, {whole:.2f} in all")
    pairs: list[tuple[str, Callable[[Engine], int], Callable[[Engine], int]]] = [
        ("bulk", by_hand_in_bulk, lambda engine: by_us(engine, True)),
        ("ORM", by_hand_with_the_orm, lambda engine: by_us(engine, False)),
    ]
    for name, hand, ours in pairs:
        theirs, mine = rate(engine, rows, due, hand), rate(engine, rows, due, ours)
        say(f"{name}: {mine:,.0f}/s, by hand {theirs:,.0f}/s: {mine / theirs:.2f} x")
    for name, known in (("known at the last sweep", True), ("committed here", False)):
        say(f"lateness, {name}: {shown(asyncio.run(lateness(engine, 200, known=known)))}")
    engine.dispose()


def say(line: str) -> None:
    print(f"transitions {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a PostgreSQL database; its tables are left behind")
    parser.add_argument("--rows", type=int, default=2_000_000, help="in the table")
    parser.add_argument("--due", type=int, default=100_000, help="of them")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if options.url:
        measure(options.url, options.rows, options.due)
        return
    try:
        server = open_server()
    except NoServer as missing:
        print(f"transitions: skipped, {missing}")
        return
    try:
        measure(server.database_url(server.create_database()), options.rows, options.due)
    finally:
        server.close()


if __name__ == "__main__":
    main()
