"""What another tenant has is as if it never was: the same answers, by the same statements that
reach as many rows, and without waiting for whoever holds them."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch
from uuid import UUID

import httpx
import psycopg
import pytest

from admin.cases import CASES, Case, Subjects, declare_broken, make_subjects
from admin.client import OF_OTHER, admin_of, client_of, make_app
from admin.permission_table import NEEDS
from duetime import ANY, Duetime
from duetime.errors import ActionNotFound
from duetime.model.access.permissions import STORE_WIDE
from duetime.testing import FakeClock
from faults.proxy import Link, Proxy
from patching import planted

# Those that a tenant's administrator may send, about what has a tenant.
NAMING = [case for case in CASES if case.named and NEEDS[case.method, case.path] not in STORE_WIDE]
UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HOLD = (
    "SELECT 1 FROM duetime_actions WHERE tenant = 'acme' FOR UPDATE",
    "SELECT 1 FROM duetime_history WHERE tenant = 'acme' FOR UPDATE",
    "SELECT 1 FROM duetime_jobs WHERE tenant = 'acme' FOR UPDATE",
    "SELECT 1 FROM duetime_subscriptions WHERE tenant = 'acme' FOR UPDATE",
    "SELECT 1 FROM duetime_notifications WHERE tenant = 'acme' FOR UPDATE",
)


class Log(Protocol):
    """Statements that were performed, and how many rows each reached, as far as that is known."""

    lines: list[str]


class TracedSqlite:
    """What SQLite says that it performs, with all values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._connect = sqlite3.connect

    def connect(self, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._connect(*given, **named)
        connection.set_trace_callback(self.lines.append)
        return connection


class RecordingProxy(Proxy):
    """What is sent to PostgreSQL, and what it answers to each statement: `SELECT 0`."""

    def __init__(self, url: str) -> None:
        self.lines: list[str] = []
        self._texts: dict[tuple[Link, bytes], str] = {}
        super().__init__(url)

    async def _carry(self, link: Link, way: str, data: bytes) -> None:
        kind, content = data[:1], data[5:]
        if way == "up" and kind == b"P":
            name, text, _types = content.split(b"\0", 2)
            self._texts[link, name] = text.decode()
        elif way == "up" and kind == b"B":
            _portal, name, _values = content.split(b"\0", 2)
            self.lines.append(self._texts[link, name])
        elif (way, kind) in {("up", b"Q"), ("down", b"C")}:
            self.lines.append(content.rstrip(b"\0").decode())
        await super()._carry(link, way, data)


@pytest.fixture
def traced_sqlite(sqlite_path: Path) -> Iterator[tuple[str, Log]]:
    traced = TracedSqlite()
    with patch.object(sqlite3, "connect", traced.connect):
        yield f"sqlite:///{sqlite_path}", traced


@pytest.fixture
def recorded_postgres(postgres_url: str) -> Iterator[tuple[str, Log]]:
    proxy = RecordingProxy(postgres_url)
    yield proxy.url, proxy
    proxy.close()


@pytest.fixture(params=["traced_sqlite", "recorded_postgres"])
def logged(request: pytest.FixtureRequest) -> tuple[str, Log]:
    """The URL of an empty store, and the log of what is sent to it."""
    found: tuple[str, Log] = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def app(logged: tuple[str, Log], clock: FakeClock) -> AsyncIterator[Duetime]:
    async with make_app(logged[0], clock=clock) as app:
        declare_broken(app)
        yield app


async def test_they_are_asked_for_by_the_same_statements(
    app: Duetime, logged: tuple[str, Log]
) -> None:
    assert await distinguished(app, logged[1]) == []


async def distinguished(app: Duetime, log: Log) -> list[str]:
    """Return the requests that are not the same about another tenant's rows as about none."""
    found = []
    subjects, never = await make_subjects(app, "acme"), Subjects()
    async with client_of(admin_of(app), OF_OTHER) as client:
        for case in NAMING:
            # The first time, statements are prepared.
            await case.send(client, never)
            theirs, none = [
                await performed(case, client, names, log) for names in (subjects, never)
            ]
            if theirs != none:
                found.append(f"{case}:\n{theirs}\n{none}")
    return found


async def performed(
    case: Case, client: httpx.AsyncClient, subjects: Subjects, log: Log
) -> tuple[int, str, list[str]]:
    before = len(log.lines)
    response = await case.send(client, subjects)
    lines = [masked(line, subjects) for line in log.lines[before:]]
    assert lines
    return response.status_code, masked(response.text, subjects), lines


def masked(text: str, subjects: Subjects) -> str:
    """The text without names: of the subjects, and of what was made at this request."""
    for name in subjects.all():
        text = text.replace(name, "*")
    return UUID_TEXT.sub("*", text)


async def test_nobody_waits_for_who_holds_them(postgres_url: str, clock: FakeClock) -> None:
    async with make_app(postgres_url, clock=clock) as app:
        declare_broken(app)
        subjects = await make_subjects(app, "acme")
        with psycopg.connect(postgres_url) as holder:
            for statement in HOLD:
                assert holder.execute(statement.encode()).rowcount > 0
            async with client_of(admin_of(app), OF_OTHER) as client:
                for case in NAMING:
                    assert (await case.send(client, subjects)).status_code == case.absent, case


async def test_what_is_distinguished_is_found(app: Duetime, logged: tuple[str, Log]) -> None:
    """By one statement more, whose answer nobody sees."""
    real = Duetime.get

    async def get_twice(app: Duetime, action_id: UUID, *, tenant: Any = None) -> Any:
        try:
            return await real(app, action_id, tenant=tenant)
        except ActionNotFound:
            if await app.find(q=str(action_id), tenant=ANY):
                await app.find(tenant=ANY)
            raise

    with planted([(Duetime, "get", get_twice)]):
        found = await distinguished(app, logged[1])
    assert [each for each in found if each.startswith("GET /actions/<failed>:")]
