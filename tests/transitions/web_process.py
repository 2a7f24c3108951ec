"""A process that writes rows and never sweeps: `python web_process.py KIND URL STORE`.

It reads a way of writing and a row's id from each line of its input, and answers when it has
committed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, insert, text, update
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from duetime import Duetime
from transitions.engines import ON_POSTGRES, ON_SQLITE, with_driver
from transitions.models import Base, Post


def past() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=1)


def add(session: Session, id: int) -> None:
    session.add(Post(id=id, publish_at=past()))


def change(session: Session, id: int) -> None:
    session.get_one(Post, id).publish_at = past()


def bulk_insert(session: Session, id: int) -> None:
    rows: list[dict[str, object]] = [
        {"id": id, "publish_at": past()},
        {"id": id + 1, "publish_at": None},
    ]
    session.execute(insert(Post), rows)


def bulk_update(session: Session, id: int) -> None:
    session.execute(update(Post).where(Post.id == id).values(publish_at=past()))


def sql(session: Session, id: int) -> None:
    values = {"id": id, "at": past()}
    session.execute(text("UPDATE posts SET publish_at = :at WHERE id = :id"), values)


def guard(session: Session, id: int) -> None:
    session.get_one(Post, id).status = "draft"


def title(session: Session, id: int) -> None:
    session.get_one(Post, id).title = "another"


def title_by_time(session: Session, id: int) -> None:
    session.execute(update(Post).where(Post.publish_at.is_not(None)).values(title="one more"))


def no_time(session: Session, id: int) -> None:
    session.add(Post(id=id, title="no time"))


def delete(session: Session, id: int) -> None:
    session.delete(session.get_one(Post, id))


WAYS: dict[str, Callable[[Session, int], None]] = {
    way.__name__: way
    for way in (
        *(add, change, bulk_insert, bulk_update, sql, guard),
        *(title, title_by_time, no_time, delete),
    )
}


def main(kind: str, url: str, store: str) -> None:
    make = (ON_SQLITE | ON_POSTGRES)[kind]
    engine = make(with_driver(url, kind))
    app = Duetime(store)
    app.transitions.register(Base, engine)
    print("ready", flush=True)
    for line in sys.stdin:
        way, id = line.split()
        if isinstance(engine, Engine):
            with Session(engine) as session:
                WAYS[way](session, int(id))
                session.commit()
        else:
            asyncio.run(write_async(kind, url, app, way, int(id)))
        print("committed", flush=True)
    app.sync.close()


async def write_async(kind: str, url: str, app: Duetime, way: str, id: int) -> None:
    """An engine belongs to one event loop, so each call registers one of its own."""
    engine = (ON_SQLITE | ON_POSTGRES)[kind](with_driver(url, kind))
    assert isinstance(engine, AsyncEngine)
    app.transitions.register(Base, engine)
    async with AsyncSession(engine) as session:
        await session.run_sync(lambda inner: WAYS[way](inner, id))
        await session.commit()
    await engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
