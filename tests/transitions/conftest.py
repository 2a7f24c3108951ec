"""The fixtures of these tests."""

from collections.abc import AsyncIterator, Iterator

import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from transitions.places import KINDS, ON_POSTGRES, Place


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
async def place(kind: str, database_url: str) -> AsyncIterator[Place]:
    """An engine of that kind, on a database with the tables of the models."""
    place = Place(kind, database_url)
    place.make_tables()
    yield place
    await place.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app(clock: FakeClock) -> Iterator[Duetime]:
    """An app whose actions live elsewhere: most transitions have none."""
    app = Duetime("memory://", clock=clock)
    yield app
    app.sync.close()


@pytest.fixture
async def beside(database_url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app whose actions live in the database of the models."""
    async with Duetime(database_url, clock=clock) as app:
        yield app
