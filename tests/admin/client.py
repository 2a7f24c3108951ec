"""A client of an app's HTTP API, who names the sender of each request."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from duetime import Duetime, Identity
from duetime.testing import FakeClock

USER = "x-user"
ADMINISTRATOR = Identity("root", {"administrators"})
NOBODY = Identity("nobody", {"visitors"})
OF_TENANT = Identity("tina", {"administrators"}, tenant="acme")
OF_OTHER = Identity("otto", {"administrators"}, tenant="other")

IDENTITIES = {identity.user: identity for identity in (ADMINISTRATOR, NOBODY, OF_TENANT, OF_OTHER)}


@dataclass(frozen=True)
class Parcel:
    """The payload of these tests."""

    order: int = 1
    text: str = ""


def identify(request: Request) -> Identity | None:
    """Who sends a request: the user that a header names."""
    return IDENTITIES.get(request.headers.get(USER, ""))


def make_app(url: str = "memory://", **settings: Any) -> Duetime:
    app = Duetime(url, **settings)

    @app.handler(kind="parcel")
    async def deliver(parcel: Parcel) -> None: ...

    return app


def client_of(asgi: Any, sender: Identity | None = ADMINISTRATOR) -> httpx.AsyncClient:
    headers = {} if sender is None else {USER: sender.user}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(asgi), base_url="http://testserver", headers=headers
    )


def admin_of(app: Duetime, **arguments: Any) -> Any:
    return app.admin(identify=identify, admin_roles={"administrators"}, **arguments)


def sent_by(identity: Identity | None) -> dict[str, str]:
    return {} if identity is None else {USER: identity.user}


def problem(response: httpx.Response) -> str:
    """The name of the problem that a response tells."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert document["status"] == response.status_code
    assert document["title"]
    name = document["type"].removeprefix("urn:duetime:")
    assert name != document["type"]
    return str(name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory_app(clock: FakeClock) -> Iterator[Duetime]:
    app = make_app(clock=clock)
    yield app
    app.sync.close()


@pytest.fixture
async def memory_client(memory_app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    """The administrator's client of an app in memory."""
    async with client_of(admin_of(memory_app)) as client:
        yield client


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store: the test runs once for each kind of store."""
    if request.param == "memory":
        return "memory://"
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
async def app(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    async with make_app(url, clock=clock) as app:
        yield app


@pytest.fixture
async def client(app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    """The administrator's client of an app on every store."""
    async with client_of(admin_of(app)) as client:
        yield client
