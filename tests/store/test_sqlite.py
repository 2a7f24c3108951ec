"""SqliteStore keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duetime.store.sql.sqlite import SqliteStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def store(self, sqlite_path: Path, clock: FakeClock) -> Iterator[SqliteStore]:
        store = SqliteStore(sqlite_path, clock=clock)
        yield store
        store.close()
