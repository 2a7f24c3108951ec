"""PostgresStore fulfils the store contract."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from duetime.store.sql.postgres.store import PostgresStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance
from servers import Server
from store.clearing import clear_postgres


@pytest.fixture(scope="module")
def database(postgres_server: Server) -> Iterator[str]:
    """A database for all tests here, emptied for each: faster than creating one each time."""
    name = postgres_server.create_database()
    yield postgres_server.database_url(name)
    postgres_server.drop_database(name)


class TestPostgresStore(StoreConformance):
    @pytest_asyncio.fixture
    async def store(self, database: str, clock: FakeClock) -> AsyncIterator[PostgresStore]:
        clear_postgres(database)
        store = PostgresStore(database, clock=clock)
        yield store
        await store.aclose()
