"""The fixtures of these tests."""

from collections.abc import AsyncIterator

import pytest

from api.apps import clock, memory_app, with_payloads
from duetime import Duetime
from joining.callers import CALLERS, NOTES, ON_SQLITE, Caller

__all__ = ["app", "caller", "caller_name", "caller_url", "clock", "idle", "memory_app"]


@pytest.fixture
def caller_url(request: pytest.FixtureRequest, caller_name: str) -> str:
    """The URL of an empty database that the caller can reach."""
    if caller_name in ON_SQLITE:
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture(params=CALLERS)
def caller_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def app(caller_url: str) -> AsyncIterator[Duetime]:
    """An app whose store is in that database, with its tables made."""
    async with with_payloads(Duetime(caller_url)) as app:
        await app.find()
        yield app


@pytest.fixture
async def idle(
    caller_name: str, caller_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Caller]:
    """A caller who has not begun."""
    # These tests call Django from their event loop; a program of Django's would not.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    caller = CALLERS[caller_name](caller_url)
    yield caller
    if caller.connection is not None:
        await caller.close()


@pytest.fixture
async def caller(idle: Caller) -> Caller:
    """A caller with a transaction open, and a table of notes of their own."""
    await idle.begin()
    await idle.execute(NOTES)
    await idle.commit()
    await idle.close()
    await idle.begin()
    return idle
