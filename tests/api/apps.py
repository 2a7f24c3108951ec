"""Fixtures for apps on every store, with their payload types."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from duetime import Duetime
from duetime.testing import FakeClock

STORES = ("memory", "sqlite", "postgres")


@dataclass(frozen=True)
class Note:
    """A payload that most tests schedule."""

    text: str = "hello"


@dataclass(frozen=True)
class Other:
    """A payload of another kind."""

    number: int = 1


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store: the test runs once for each kind of store."""
    return store_url(request)


@pytest.fixture(params=STORES[1:])
def durable_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store that several apps may share."""
    return store_url(request)


def store_url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("sqlite_path")
        return f"sqlite:///{path}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def app(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app that knows Note and Other, in the time of `clock`."""
    async with with_payloads(Duetime(url, clock=clock)) as app:
        yield app


@pytest.fixture
async def real_app(url: str) -> AsyncIterator[Duetime]:
    """An app in real time, for tests of the worker; knows no kind yet."""
    async with Duetime(url, lease=5, grace=5) as app:
        yield app


@pytest.fixture
def memory_app(clock: FakeClock) -> Iterator[Duetime]:
    """For what has nothing to do with the store."""
    app = with_payloads(Duetime("memory://", clock=clock))
    yield app
    app.sync.close()


def with_payloads(app: Duetime) -> Duetime:
    app.payload(Note, kind="note")
    app.payload(Other, kind="other")
    return app


def case_id(value: object) -> str:
    """Return a test id that is the same in every process, without addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


class Log:
    """Lines that handlers wrote, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
