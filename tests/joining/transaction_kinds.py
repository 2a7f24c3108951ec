"""Every kind of transaction that a handler may get, behind one interface."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from api.apps import Note, Other
from duetime import Context, Duetime
from joining.callers import NOTES
from polling import MIN_POLL_SECONDS, until

Work = Callable[["HandlerTransaction"], Any]
INSERT = "INSERT INTO notes (body) VALUES ('done')"


class HandlerTransaction:
    """The transaction of a handler, and the verbs of the app."""

    def __init__(self, app: Duetime, lent: Any, context: Context, blocking: bool) -> None:
        self.app, self.lent, self.context, self._blocking = app, lent, context, blocking

    async def execute(self, sql: str) -> Any:
        statement = text(sql) if isinstance(self.lent, Session | AsyncSession) else sql
        result = self.lent.execute(statement)
        return await result if isinstance(result, Awaitable) else result

    async def verb(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self._blocking:
            return getattr(self.app.sync, name)(*args, **kwargs)
        return await getattr(self.app, name)(*args, **kwargs)

    async def until_stopped(self) -> None:
        """Wait until this handler is asked to stop."""
        if not self._blocking:
            await until(lambda: self.context.cancelled)
        pause = threading.Event()
        while not self.context.cancelled:
            pause.wait(MIN_POLL_SECONDS)


class Kind:
    """Type of the handler's parameter, and the driver below it."""

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
        """Insert on a connection of the engine, outside the handler's transaction."""
        if self.type is Session:
            with self._engine.begin() as connection:
                connection.execute(text(INSERT))
            return
        async with self._engine.begin() as connection:
            await connection.execute(text(INSERT))

    def declare(
        self, app: Duetime, work: Callable[[HandlerTransaction], Awaitable[Any]], **options: Any
    ) -> None:
        """Declare a transactional handler of notes that does this work."""

        def plain(note: Note, lent: Any, context: Context) -> Any:
            return finished(work(HandlerTransaction(app, lent, context, True)))

        async def awaited(note: Note, lent: Any, context: Context) -> Any:
            return await work(HandlerTransaction(app, lent, context, False))

        handler = plain if self.blocking else awaited
        handler.__annotations__ |= {"note": Note, "lent": self.type, "context": Context}
        app.handler(kind="note", transactional=True, **options)(handler)


def finished(work: Any) -> Any:
    """Return the value of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waited")


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
    """Return the number of committed notes."""
    if url.startswith("sqlite"):
        lite = sqlite3.connect(url.removeprefix("sqlite:///"))
        row = lite.execute("SELECT count(*) FROM notes").fetchone()
        lite.close()
        return int(row[0])
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM notes").fetchone()
        assert row is not None
        return int(row[0])


__all__ = ["INSERT", "KINDS", "HandlerTransaction", "Kind", "Other", "count_notes", "make_notes"]
