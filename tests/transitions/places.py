"""Places where models live: every kind of engine, each on an empty database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import Session

from transitions.models import Base

Make = Callable[..., Engine | AsyncEngine]
ON_SQLITE: dict[str, Make] = {"pysqlite": create_engine, "aiosqlite": create_async_engine}
ON_POSTGRES: dict[str, Make] = {
    "psycopg": create_engine,
    "psycopg2": create_engine,
    "psycopg_async": create_async_engine,
    "asyncpg": create_async_engine,
}
KINDS = [*ON_SQLITE, *ON_POSTGRES]


class Place:
    """A database with the tables of the models, and an engine of one kind on it."""

    def __init__(self, kind: str, url: str, **options: Any) -> None:
        self.kind = kind
        self.url = url
        make = (ON_SQLITE | ON_POSTGRES)[kind]
        self.engine: Engine | AsyncEngine = make(driven(url, kind), **options)
        # What tests do besides, blocking.
        self.aside = create_engine(driven(url, "psycopg" if self.on_postgres else "pysqlite"))

    @property
    def on_postgres(self) -> bool:
        return self.kind in ON_POSTGRES

    def make_tables(self, base: Any = Base) -> None:
        base.metadata.create_all(self.aside)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Committed in the end."""
        with Session(self.aside, expire_on_commit=False) as session, session.begin():
            yield session

    def add(self, *models: object) -> None:
        with self.session() as session:
            session.add_all(models)

    def rows(self, sql: str, **params: object) -> Sequence[tuple[Any, ...]]:
        with self.aside.connect() as connection:
            return [tuple(one) for one in connection.execute(text(sql), params)]

    def do(self, sql: str, **params: object) -> None:
        with self.aside.begin() as connection:
            connection.execute(text(sql), params)

    async def close(self) -> None:
        self.aside.dispose()
        if isinstance(self.engine, AsyncEngine):
            await self.engine.dispose()
        else:
            self.engine.dispose()


def driven(url: str, kind: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}+{kind.removesuffix('_async')}://{rest}"
