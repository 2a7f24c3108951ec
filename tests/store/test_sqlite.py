"""SqliteStore passes the conformance tests of the store contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance
from store.clearing import clear_sqlite


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file for all tests of this module, cleared for each: faster than a new file."""
    return tmp_path_factory.mktemp("sqlite") / "duetime.db"


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def store(self, path: Path, clock: FakeClock) -> Iterator[SqliteStore]:
        clear_sqlite(path)
        store = SqliteStore(path, clock=clock)
        yield store
        store.close()
