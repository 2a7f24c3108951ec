"""A read on the caller's connection leaves it as a read of the caller's own would."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.apps import Note, with_payloads
from duetime import Duetime
from joining.callers import CALLERS, ON_SQLITE, Caller
from store.postgres_helpers import count_sessions

LATER = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
async def other(caller_name: str, idle: Caller) -> AsyncIterator[Caller]:
    """Another caller of the same library."""
    caller = CALLERS[caller_name](idle.url)
    yield caller
    if caller.connection is not None:
        await caller.close()


@pytest.mark.parametrize("autocommit", [False, True])
async def test_it_begins_nothing_that_a_read_of_the_callers_own_would_not(
    app: Duetime, idle: Caller, other: Caller, autocommit: bool
) -> None:
    action = await app.schedule(Note(), at=LATER)
    await other.begin(autocommit=autocommit)
    await other.execute("SELECT 1")
    own = open_transactions(other)
    await other.rollback()
    await other.close()
    await idle.begin(autocommit=autocommit)
    for verb in ("get", "runs"):
        await idle.call(app, verb, action.id)
    await idle.call(app, "find")
    assert open_transactions(idle) == own
    await idle.rollback()


@pytest.mark.parametrize("caller_name", ON_SQLITE, indirect=True)
async def test_others_may_write_after_it(app: Duetime, idle: Caller, sqlite_path: Path) -> None:
    action = await app.schedule(Note(), at=LATER)
    await idle.begin()
    await idle.call(app, "get", action.id)
    assert not is_locked(sqlite_path)
    await idle.rollback()


def test_tables_that_it_had_to_make_first_are_committed(sqlite_path: Path) -> None:
    app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
    with closing(sqlite3.connect(sqlite_path)) as mine:
        assert list(app.sync.find(connection=mine)) == []
        assert not mine.in_transaction
        assert not is_locked(sqlite_path)
    app.sync.close()


def open_transactions(caller: Caller) -> int:
    """Return how many transactions other connections see as open."""
    if caller.url.startswith("sqlite"):
        return is_locked(Path(caller.url.removeprefix("sqlite:///")))
    return count_sessions(caller.url, "state LIKE 'idle in transaction%'")


def is_locked(path: Path) -> bool:
    """Return whether another connection holds the write lock."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as mine:
        try:
            mine.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        mine.execute("ROLLBACK")
        return False
