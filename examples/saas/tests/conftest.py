"""The whole program on a database of the tests, and on a clock that they move."""

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from duetime import Duetime

# Read by saas.database, so this must come before the first import of saas.
os.environ["DUETIME_URL"] = os.environ.get(
    "SAAS_TEST_URL", f"sqlite:///{tempfile.mkdtemp(prefix='saas-')}/test.db"
)


@pytest.fixture
def due_override() -> dict[str, object]:
    """The plugin's `due_app` works with the sessions of this program."""
    from saas.database import sessions

    return {"sessions": sessions}


@pytest.fixture
async def due_app(due_app: Duetime) -> AsyncIterator[Duetime]:
    """The app with empty tables: duetime's, and ours."""
    from saas.database import Base, create_tables, engine

    await due_app.testing.reset(wipe=Path(engine.url.database or "").name)
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
    await create_tables()
    yield due_app
    await engine.dispose()


@pytest.fixture
async def client(due_app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    """Calls the API as ann of the tenant acme. There is no worker: tests move the clock."""
    from saas.api import api

    headers = {"tenant": "acme", "user": "ann"}
    transport = httpx.ASGITransport(api)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://saas", headers=headers
    ) as client:
        yield client


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The mails that were sent, instead of a mail server."""
    from saas.mail import Mailer

    sent: list[str] = []

    async def send(self: Mailer, to: str, text: str) -> None:
        sent.append(f"{to}: {text}")

    monkeypatch.setattr(Mailer, "send", send)
    return sent
