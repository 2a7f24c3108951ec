"""Binds: how to work on an application's database, whatever kind of engine it has. The work itself
is written once, for a blocking session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import SingletonThreadPool, StaticPool

from duetime.errors import ConfigError, shown
from duetime.model.tenant import SYSTEM, acting
from duetime.transitions.commit import hear_commits
from duetime.transitions.row_deletion import SWEEPS

T = TypeVar("T")

DIALECTS = ("postgresql", "sqlite")


class Bind:
    """Sessions on one engine; made by the user's own factory if one is given, so that what
    listens to its sessions hears of transitions too."""

    def __init__(self, given: object) -> None:
        self._sessions = _factory(given)
        self.engine = _engine_of(self._sessions, given)
        hear_commits(_class_of(self._sessions))
        self.dialect = self.engine.dialect.name
        if self.dialect not in DIALECTS:
            raise ConfigError(
                f"register(..., {shown(given)}): transitions work on PostgreSQL and SQLite, and "
                f"this engine is for {self.dialect}"
            )
        if isinstance(self.engine.pool, SingletonThreadPool):
            raise ConfigError(
                f"{self.engine.url!r} gives each thread a database of its own: use a file, or "
                "create_engine('sqlite://', poolclass=StaticPool, "
                "connect_args={'check_same_thread': False})"
            )

    @property
    def schemas(self) -> dict[str | None, str | None]:
        """Which schemas stand for which on this engine."""
        found: dict[str | None, str | None] | None
        found = self.engine.get_execution_options().get("schema_translate_map")
        return dict(found or {})

    @property
    def is_async(self) -> bool:
        return isinstance(self._sessions, async_sessionmaker)

    def refuse_shared(self) -> None:
        """One connection for all: whoever rolls back takes along what others have written."""
        if isinstance(self.engine.pool, StaticPool):
            raise ConfigError(
                f"{self.engine.url!r} has one connection for all (StaticPool), so that a runner or "
                "worker would roll back what your own sessions have not committed: use a file, or "
                "call sweep() or drain() yourself, in tests"
            )

    async def run(self, work: Callable[[Session], T]) -> T:
        """A blocking engine works in a thread; an async one in this loop."""
        if isinstance(self._sessions, async_sessionmaker):
            with acting(tenant=None, by=SYSTEM):
                async with self._sessions() as session:
                    return await session.run_sync(lambda inner: work(_marked(inner)))
        return await asyncio.to_thread(self._blocking, work)

    async def aclose(self) -> None:
        bound = self._sessions.kw["bind"]
        if isinstance(bound, AsyncEngine):
            await bound.dispose()
        else:
            bound.dispose()

    def _blocking(self, work: Callable[[Session], T]) -> T:
        assert isinstance(self._sessions, sessionmaker)
        with acting(tenant=None, by=SYSTEM), self._sessions() as session:
            return work(_marked(session))


def _class_of(sessions: sessionmaker[Session] | async_sessionmaker[AsyncSession]) -> type[Session]:
    """Of the blocking sessions that they make, or work by."""
    if isinstance(sessions, sessionmaker):
        return sessions.class_
    found: type[Session] = sessions.kw.get("sync_session_class", sessions.class_.sync_session_class)
    return found


def _marked(session: Session) -> Session:
    """For listeners that keep who did it."""
    session.info["by"] = SYSTEM
    session.info[SWEEPS] = True
    return session


def _factory(given: object) -> sessionmaker[Session] | async_sessionmaker[AsyncSession]:
    if isinstance(given, sessionmaker | async_sessionmaker):
        return given
    if isinstance(given, AsyncEngine):
        return async_sessionmaker(given)
    if isinstance(given, Engine):
        return sessionmaker(given)
    raise ConfigError(
        f"register(..., {shown(given)}) is no engine: give an Engine, an AsyncEngine, or the "
        "sessionmaker or async_sessionmaker whose listeners shall hear of transitions"
    )


def _engine_of(
    sessions: sessionmaker[Session] | async_sessionmaker[AsyncSession], given: object
) -> Engine:
    bound: Any = sessions.kw.get("bind")
    if isinstance(bound, AsyncEngine):
        return bound.sync_engine
    if isinstance(bound, Engine):
        return bound
    raise ConfigError(
        f"register(..., {shown(given)}) makes sessions without an engine: give sessionmaker(engine)"
    )
