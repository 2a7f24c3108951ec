"""The fixtures of these tests."""

from collections.abc import AsyncIterator, Iterator

import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from transitions.engines import KINDS, ON_POSTGRES, ModelDatabase


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of engine; a test may name its own."""
    name: str = request.param
    return name


@pytest.fixture
def database_url(request: pytest.FixtureRequest, kind: str) -> str:
    if kind in ON_POSTGRES:
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{request.getfixturevalue('sqlite_path')}"


@pytest.fixture
async def database(kind: str, database_url: str) -> AsyncIterator[ModelDatabase]:
    """An engine of that kind, on a database with the tables of the models."""
    database = ModelDatabase(kind, database_url)
    database.make_tables()
    yield database
    await database.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app(clock: FakeClock) -> Iterator[Duetime]:
    """An app with a store of its own: most transitions schedule no actions."""
    app = Duetime("memory://", clock=clock)
    yield app
    app.sync.close()


@pytest.fixture
async def same_database_app(database_url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app whose actions live in the database of the models."""
    async with Duetime(database_url, clock=clock) as app:
        yield app
