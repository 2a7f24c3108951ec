"""Databases for models, with every kind of SQLAlchemy engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import Session

from transitions.models import Base, Post

Make = Callable[..., Engine | AsyncEngine]
ON_SQLITE: dict[str, Make] = {"pysqlite": create_engine, "aiosqlite": create_async_engine}
ON_POSTGRES: dict[str, Make] = {
    "psycopg": create_engine,
    "psycopg2": create_engine,
    "psycopg_async": create_async_engine,
    "asyncpg": create_async_engine,
}
KINDS = [*ON_SQLITE, *ON_POSTGRES]


class ModelDatabase:
    """A database with the tables of the models, and an engine of one kind on it."""

    def __init__(self, kind: str, url: str, **options: Any) -> None:
        self.kind = kind
        self.url = url
        make = (ON_SQLITE | ON_POSTGRES)[kind]
        self.engine: Engine | AsyncEngine = make(with_driver(url, kind), **options)
        # For what the tests themselves read and write.
        self.sync_engine = create_engine(
            with_driver(url, "psycopg" if self.on_postgres else "pysqlite")
        )

    @property
    def on_postgres(self) -> bool:
        return self.kind in ON_POSTGRES

    def make_tables(self, base: Any = Base) -> None:
        base.metadata.create_all(self.sync_engine)

    def has_tables(self) -> bool:
        """Whether the tables of the models are there; all are made together."""
        return inspect(self.sync_engine).has_table(Post.__tablename__)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session that is committed at the end."""
        with Session(self.sync_engine, expire_on_commit=False) as session, session.begin():
            yield session

    def add(self, *models: object) -> None:
        with self.session() as session:
            session.add_all(models)

    def rows(self, sql: str, **params: object) -> Sequence[tuple[Any, ...]]:
        with self.sync_engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(sql), params)]

    def do(self, sql: str, **params: object) -> None:
        with self.sync_engine.begin() as connection:
            connection.execute(text(sql), params)

    async def close(self) -> None:
        self.sync_engine.dispose()
        if isinstance(self.engine, AsyncEngine):
            await self.engine.dispose()
        else:
            self.engine.dispose()


def with_driver(url: str, kind: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}+{kind.removesuffix('_async')}://{rest}"
