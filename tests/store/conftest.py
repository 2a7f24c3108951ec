"""The fixtures of these tests."""

from collections.abc import AsyncIterator

import pytest_asyncio

from duetime.store.sql.postgres.store import PostgresStore


@pytest_asyncio.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store in PostgreSQL that soon gives up; tests of other stores have one of their own."""
    store = PostgresStore(postgres_url, timeout=5)
    yield store
    await store.aclose()
