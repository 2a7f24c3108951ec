"""The database, which holds the tables of this program and those of duetime."""

import os
from collections.abc import AsyncIterator

from sqlalchemy import URL, make_url
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase

DUETIME_URL = os.environ.get("DUETIME_URL", "sqlite:///saas.db")
DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
}


def async_url(url: str) -> URL:
    """Return the URL of the same database for SQLAlchemy's async engine."""
    parsed = make_url(url)
    return parsed.set(drivername=DRIVERS[parsed.get_backend_name()])


engine = create_async_engine(async_url(DUETIME_URL))
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase): ...


async def get_session() -> AsyncIterator[AsyncSession]:
    async with sessions() as session:
        yield session


async def create_tables() -> None:
    """A program that lives on uses migrations instead: see docs/howto/alembic.md."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
