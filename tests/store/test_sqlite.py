"""SqliteStore keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance
from store.empty import empty_sqlite


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests here, emptied for each: faster than a new one."""
    return tmp_path_factory.mktemp("sqlite") / "duetime.db"


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def store(self, path: Path, clock: FakeClock) -> Iterator[SqliteStore]:
        empty_sqlite(path)
        store = SqliteStore(path, clock=clock)
        yield store
        store.close()
