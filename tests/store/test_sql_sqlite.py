"""The SQLite store keeps the whole contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from duetime.store.sql.sqlite import SqliteStore
from duetime.testing.clock import FakeClock
from duetime.testing.conformance import StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest_asyncio.fixture
    async def store(self, clock: FakeClock, sqlite_path: Path) -> AsyncIterator[SqliteStore]:
        store = SqliteStore(sqlite_path, clock=clock)
        yield store
        await store.aclose()
