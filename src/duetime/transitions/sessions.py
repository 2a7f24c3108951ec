"""Sessions on the application's database, for every kind of engine. Code that uses a session is
written once, for a blocking session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import unquote

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import SingletonThreadPool, StaticPool

from duetime.errors import ConfigError, shown
from duetime.model.store_url import mask_password
from duetime.model.tenant import SYSTEM, acting
from duetime.transitions.commit import sweeping, track_commits
from duetime.transitions.row_deletion import SWEEP_KEY

T = TypeVar("T")

SUPPORTED_DIALECTS = ("postgresql", "sqlite")


class Sessions:
    """Sessions on one engine. A session factory of the user's is used as it is, so that listeners
    on its sessions see transitions too."""

    def __init__(self, engine: object) -> None:
        self._factory = _session_factory(engine)
        self.engine = _engine_of(self._factory, engine)
        track_commits(_session_class(self._factory))
        self.dialect = self.engine.dialect.name
        if self.dialect not in SUPPORTED_DIALECTS:
            raise ConfigError(
                f"register(..., {self.place}): {self.dialect} is not supported: transitions "
                "need PostgreSQL or SQLite"
            )
        if isinstance(self.engine.pool, SingletonThreadPool):
            raise ConfigError(
                f"{self.place} gives each thread a database of its own: use a file, or "
                "create_engine('sqlite://', poolclass=StaticPool, "
                "connect_args={'check_same_thread': False})"
            )

    @property
    def place(self) -> str:
        """The engine's URL, for messages."""
        return mask_password(repr(self.engine.url))

    @property
    def schema_map(self) -> dict[str | None, str | None]:
        """The engine's schema_translate_map."""
        schema_map: dict[str | None, str | None] | None
        schema_map = self.engine.get_execution_options().get("schema_translate_map")
        return dict(schema_map or {})

    @property
    def file_path(self) -> str | None:
        """The file of a SQLite database; None for other databases, and in memory."""
        name = self.engine.url.database or ":memory:"
        in_memory = ":memory:" in name or "mode=memory" in name
        if self.dialect != "sqlite" or in_memory:
            return None
        return unquote(name[5:].partition("?")[0]) if name.startswith("file:") else name

    @property
    def is_async(self) -> bool:
        return isinstance(self._factory, async_sessionmaker)

    def refuse_shared_connection(self) -> None:
        """Raise ConfigError for a StaticPool: all sessions share one connection, so that a
        rollback undoes uncommitted writes of other sessions."""
        if isinstance(self.engine.pool, StaticPool):
            raise ConfigError(
                f"{self.place} has one connection for all sessions (StaticPool): a runner "
                "or worker would roll back uncommitted changes of your own sessions; use a file, "
                "or call sweep() or drain() yourself, in tests"
            )

    async def run(self, work: Callable[[Session], T]) -> T:
        """Call `work` with a session: in a thread for a blocking engine, in this event loop for an
        async one."""
        if isinstance(self._factory, async_sessionmaker):
            with _as_system():
                async with self._factory() as session:
                    return await session.run_sync(lambda inner: work(_as_sweep(inner)))
        return await asyncio.to_thread(self._run_blocking, work)

    def _run_blocking(self, work: Callable[[Session], T]) -> T:
        assert isinstance(self._factory, sessionmaker)
        with _as_system(), self._factory() as session:
            return work(_as_sweep(session))

    async def aclose(self) -> None:
        engine = self._factory.kw["bind"]
        if isinstance(engine, AsyncEngine):
            await engine.dispose()
        else:
            engine.dispose()


def _session_factory(engine: object) -> sessionmaker[Session] | async_sessionmaker[AsyncSession]:
    if isinstance(engine, sessionmaker | async_sessionmaker):
        return engine
    if isinstance(engine, AsyncEngine):
        return async_sessionmaker(engine)
    if isinstance(engine, Engine):
        return sessionmaker(engine)
    raise ConfigError(
        f"register(..., {shown(engine)}): not an engine: give an Engine, an AsyncEngine, or a "
        "sessionmaker or async_sessionmaker, whose listeners then see transitions too"
    )


def _engine_of(
    factory: sessionmaker[Session] | async_sessionmaker[AsyncSession], given: object
) -> Engine:
    engine: Any = factory.kw.get("bind")
    if isinstance(engine, AsyncEngine):
        return engine.sync_engine
    if isinstance(engine, Engine):
        return engine
    raise ConfigError(
        f"register(..., {shown(given)}): the session factory has no engine: give "
        "sessionmaker(engine)"
    )


def _session_class(
    factory: sessionmaker[Session] | async_sessionmaker[AsyncSession],
) -> type[Session]:
    """Return the class of the factory's sessions; for async sessions, of the blocking sessions
    inside them."""
    if isinstance(factory, sessionmaker):
        return factory.class_
    class_: type[Session] = factory.kw.get("sync_session_class", factory.class_.sync_session_class)
    return class_


@contextmanager
def _as_system() -> Iterator[None]:
    token = sweeping.set(True)
    try:
        with acting(tenant=None, by=SYSTEM):
            yield
    finally:
        sweeping.reset(token)


def _as_sweep(session: Session) -> Session:
    """Mark the session, for listeners that record who made a change."""
    session.info["by"] = SYSTEM
    session.info[SWEEP_KEY] = True
    return session
