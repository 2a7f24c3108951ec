"""A handler that cannot be transactional is refused when declared, with the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from api.apps import Note, Other
from duetime import Depends, Duetime, State
from duetime.errors import ConfigError

SESSIONS = sessionmaker(create_engine("sqlite://"))
ASYNC_SESSIONS = async_sessionmaker(create_async_engine("sqlite+aiosqlite://"))


def plain_session(note: Note, session: Session) -> None: ...


async def async_with_session(note: Note, session: Session) -> None: ...


def plain_with_async_session(note: Note, session: AsyncSession) -> None: ...


async def async_session(note: Note, session: AsyncSession) -> None: ...


async def async_with_sqlite3(note: Note, connection: sqlite3.Connection) -> None: ...


def plain_psycopg(note: Note, connection: psycopg.Connection[Any]) -> None: ...


def nothing(note: Note) -> None: ...


def two(note: Note, session: Session, connection: sqlite3.Connection) -> None: ...


@pytest.mark.parametrize(
    ("handler", "sessions", "message"),
    [
        (async_with_session, SESSIONS, "would block.*AsyncSession"),
        (plain_with_async_session, ASYNC_SESSIONS, r"is not async, but.*Session"),
        (async_with_sqlite3, None, "would block"),
        (plain_session, None, r"sessions=sessionmaker\(engine\)"),
        (plain_session, ASYNC_SESSIONS, r"sessions=sessionmaker\(engine\)\), not"),
        (async_session, SESSIONS, r"sessions=async_sessionmaker\(engine\)\), not"),
        (plain_session, scoped_session(SESSIONS), r"sessions=sessionmaker\(engine\)\), not"),
        (plain_session, 5, "not 5"),
        (plain_psycopg, None, r"sqlite3\.Connection"),
        (nothing, None, "asks for no transaction: annotate one parameter as Session"),
        (two, SESSIONS, "Session and Connection"),
    ],
)
def test_on_sqlite(
    sqlite_path: Path, handler: Callable[..., Any], sessions: Any, message: str
) -> None:
    app = Duetime(f"sqlite:///{sqlite_path}", sessions=sessions)
    with pytest.raises(ConfigError, match=message):
        app.handler(kind="note", transactional=True)(handler)
    # The refused handler was not declared.
    app.handler(kind="note")(nothing)


def test_on_postgres_sqlite3_is_no_connection() -> None:
    app = Duetime("postgresql://localhost/nowhere")

    def handle(note: Note, connection: sqlite3.Connection) -> None: ...

    with pytest.raises(ConfigError, match=r"psycopg\.Connection"):
        app.handler(kind="note", transactional=True)(handle)


def test_memory_has_no_transactions(memory_app: Duetime) -> None:
    with pytest.raises(ConfigError, match="SQLite or PostgreSQL"):
        memory_app.handler(kind="note", transactional=True)(plain_session)


async def test_a_dependency_may_ask_for_the_transaction(sqlite_path: Path) -> None:
    app = Duetime(f"sqlite:///{sqlite_path}")
    lent: list[object] = []

    def repository(connection: sqlite3.Connection) -> sqlite3.Connection:
        lent.append(connection)
        return connection

    @app.handler(kind="note", transactional=True)
    def handle(
        note: Note,
        connection: sqlite3.Connection,
        same: Annotated[sqlite3.Connection, Depends(repository)],
    ) -> bool:
        return connection is same

    async with app:
        action = await app.schedule(Note())
        await app.testing.drain()
        finished = await app.get(action.id)
    assert (finished.state, finished.result, len(lent)) == (State.succeeded, True, 1)


def psycopg_async(note: Note, connection: psycopg.AsyncConnection[Any]) -> None: ...


class OwnSession(AsyncSession): ...


def own_session(note: Note, session: OwnSession) -> None: ...


@pytest.mark.parametrize(
    ("handler", "asked"),
    [
        (async_session, "AsyncSession"),
        (plain_session, "Session"),
        (async_with_sqlite3, "Connection"),
        (plain_psycopg, "Connection"),
        (psycopg_async, "AsyncConnection"),
        (own_session, "OwnSession"),
    ],
)
def test_a_handler_that_asks_for_a_session_must_be_transactional(
    memory_app: Duetime, handler: Callable[..., Any], asked: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        memory_app.handler(kind="note")(handler)
    assert f"asks for {asked}: declare the handler with transactional=True" in str(raised.value)
    assert memory_app.runtime.handlers.kinds() == []


def test_a_session_of_ones_own_needs_no_transaction(memory_app: Duetime) -> None:
    @memory_app.handler(kind="note")
    def run(
        note: Note, session: Annotated[Session, Depends(SESSIONS)], other: Session | None = None
    ) -> None: ...

    memory_app.provide(AsyncSession, ASYNC_SESSIONS)
    memory_app.payload(Other, kind="other")

    @memory_app.handler(kind="other")
    async def run_other(note: Other, session: AsyncSession) -> None: ...
