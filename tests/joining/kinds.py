"""Every kind of transaction that a handler may work in, each behind the same few words."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from duetime import Context, Duetime
from joining.callers import NOTES

Work = Callable[["Hand"], Any]
INSERT = "INSERT INTO notes (body) VALUES ('done')"


class Hand:
    """What a handler has in its hands: its transaction, and the app's verbs."""

    def __init__(self, app: Duetime, lent: Any, context: Context, blocking: bool) -> None:
        self.app, self.lent, self.context, self._blocking = app, lent, context, blocking

    async def execute(self, sql: str) -> Any:
        statement = text(sql) if isinstance(self.lent, Session | AsyncSession) else sql
        result = self.lent.execute(statement)
        return await result if isinstance(result, Awaitable) else result

    async def verb(self, name: str, *args: Any, **named: Any) -> Any:
        if self._blocking:
            return getattr(self.app.sync, name)(*args, **named)
        return await getattr(self.app, name)(*args, **named)


class Kind:
    """A type of parameter, and the driver below it."""

    def __init__(self, type_: type[Any], driver: str = "") -> None:
        self.type = type_
        self.driver = driver
        self.blocking = type_ in (Session, psycopg.Connection, sqlite3.Connection)
        self._engine: Any = None

    def sessions(self, url: str) -> Any:
        if not self.driver:
            return None
        scheme, _, rest = url.partition("://")
        named = f"{scheme}+{self.driver}://{rest}"
        if self.type is Session:
            self._engine = create_engine(named)
            return sessionmaker(self._engine)
        self._engine = create_async_engine(named)
        return async_sessionmaker(self._engine)

    async def close(self) -> None:
        disposed = None if self._engine is None else self._engine.dispose()
        if disposed is not None:
            await disposed

    async def insert_by_itself(self) -> None:
        """Use the engine as other code would."""
        if self.type is Session:
            with self._engine.begin() as connection:
                connection.execute(text(INSERT))
            return
        async with self._engine.begin() as connection:
            await connection.execute(text(INSERT))

    def declare(self, app: Duetime, work: Callable[[Hand], Awaitable[Any]], **how: Any) -> None:
        """A transactional handler of notes that does this work."""

        def plain(note: Note, lent: Any, context: Context) -> Any:
            return finished(work(Hand(app, lent, context, True)))

        async def awaited(note: Note, lent: Any, context: Context) -> Any:
            return await work(Hand(app, lent, context, False))

        handler = plain if self.blocking else awaited
        handler.__annotations__ |= {"note": Note, "lent": self.type, "context": Context}
        app.handler(kind="note", transactional=True, **how)(handler)


def finished(work: Any) -> Any:
    """The value of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")


ON_POSTGRES = {
    "Session-psycopg": (Session, "psycopg"),
    "Session-psycopg2": (Session, "psycopg2"),
    "AsyncSession-psycopg": (AsyncSession, "psycopg"),
    "AsyncSession-asyncpg": (AsyncSession, "asyncpg"),
    "psycopg": (psycopg.Connection, ""),
    "async-psycopg": (psycopg.AsyncConnection, ""),
}
ON_SQLITE = {
    "Session-sqlite": (Session, "pysqlite"),
    "AsyncSession-aiosqlite": (AsyncSession, "aiosqlite"),
    "sqlite3": (sqlite3.Connection, ""),
}
KINDS: dict[str, tuple[type[Any], str]] = ON_POSTGRES | ON_SQLITE


def make_notes(url: str) -> None:
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as lite:
            lite.execute(NOTES)
        lite.close()
        return
    with psycopg.connect(url) as connection:
        connection.execute(NOTES)


def count_notes(url: str) -> int:
    """As everybody else sees them."""
    if url.startswith("sqlite"):
        lite = sqlite3.connect(url.removeprefix("sqlite:///"))
        found = lite.execute("SELECT count(*) FROM notes").fetchone()
        lite.close()
        return int(found[0])
    with psycopg.connect(url) as connection:
        counted = connection.execute("SELECT count(*) FROM notes").fetchone()
        assert counted is not None
        return int(counted[0])


__all__ = ["INSERT", "KINDS", "Hand", "Kind", "Other", "count_notes", "make_notes"]
