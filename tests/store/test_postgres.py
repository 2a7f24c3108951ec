"""PostgresStore keeps the contract."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
import pytest_asyncio

from duetime.store.sql.postgres import PostgresStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance
from servers import Server

prefixes = (f"t{number}_" for number in count())


@pytest.fixture(scope="module")
def database(postgres_server: Server) -> Iterator[str]:
    """One for all tests here: new tables come faster than a new database."""
    name = postgres_server.create_database()
    yield postgres_server.database_url(name)
    postgres_server.drop_database(name)


class TestPostgresStore(StoreConformance):
    @pytest_asyncio.fixture
    async def store(self, database: str, clock: FakeClock) -> AsyncIterator[PostgresStore]:
        store = PostgresStore(database, prefix=next(prefixes), clock=clock)
        yield store
        await store.aclose()
