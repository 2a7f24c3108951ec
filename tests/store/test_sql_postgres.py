"""The PostgreSQL store keeps the whole contract."""

from collections.abc import AsyncIterator

import pytest_asyncio

from duetime.store.sql.postgres import PostgresStore
from duetime.testing.clock import FakeClock
from duetime.testing.conformance import StoreConformance


class TestPostgresStore(StoreConformance):
    @pytest_asyncio.fixture
    async def store(self, clock: FakeClock, postgres_url: str) -> AsyncIterator[PostgresStore]:
        store = PostgresStore(postgres_url, clock=clock)
        yield store
        await store.aclose()
