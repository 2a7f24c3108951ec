"""The fixtures of these tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from databases import Databases, create_our_tables
from duetime import Duetime
from duetime.testing import FakeClock
from servers import Server
from transitions.engines import KINDS, ON_POSTGRES, ON_SQLITE, ModelDatabase


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of engine; a test may name its own."""
    name: str = request.param
    return name


def create_model_tables(url: str) -> None:
    create_our_tables(url)
    database = ModelDatabase("psycopg", url)
    database.make_tables()
    database.sync_engine.dispose()


@pytest.fixture
def postgres_url(postgres_server: Server, databases: Databases) -> Iterator[str]:
    """The URL of a database with our empty tables and those of the models."""
    name = databases.take_ready(create_model_tables)
    yield postgres_server.database_url(name)
    databases.give_back(name)


@pytest.fixture(scope="session")
def sqlite_models(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of a SQLite database with the tables of the models."""
    path = tmp_path_factory.mktemp("models") / "models.db"
    database = ModelDatabase("pysqlite", f"sqlite:///{path}")
    database.make_tables()
    database.sync_engine.dispose()
    return path.read_bytes()


@pytest.fixture
def database_url(request: pytest.FixtureRequest, kind: str) -> str:
    if kind in ON_POSTGRES:
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{request.getfixturevalue('sqlite_path')}"


@pytest.fixture
def filled_url(database_url: str, kind: str, sqlite_path: Path, sqlite_models: bytes) -> str:
    """The URL of a database that has the tables of the models, if it was not there before."""
    if kind in ON_SQLITE and not sqlite_path.exists():
        sqlite_path.write_bytes(sqlite_models)
    return database_url


@pytest.fixture
async def database(kind: str, filled_url: str) -> AsyncIterator[ModelDatabase]:
    """An engine of that kind, on a database with the tables of the models."""
    database = ModelDatabase(kind, filled_url)
    if not database.has_tables():
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
