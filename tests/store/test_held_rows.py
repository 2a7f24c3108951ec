"""PostgreSQL: a reader sees that another transaction holds a row, and locks nothing itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest

from duetime.model.actions.claim import WorkerInfo
from duetime.model.reason import reasons_of
from duetime.model.tenant import ANY
from duetime.store.sql.postgres.store import PostgresStore
from store.postgres_helpers import add, another, claim, lock

WORKER = WorkerInfo("w", "shop", "here", 1, ["mail"], [], 10)
ALIVE = 10**9

HOLD = {
    "a lock": "SELECT 1 FROM duetime_actions WHERE id = %s FOR UPDATE",
    "a weak lock": "SELECT 1 FROM duetime_actions WHERE id = %s FOR KEY SHARE",
    "a change": "UPDATE duetime_actions SET error = 'x' WHERE id = %s",
    "a deletion": "DELETE FROM duetime_actions WHERE id = %s",
}


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    await store.perform(store.sweep(WORKER, 0, 1))
    yield store
    await store.aclose()


async def codes(store: PostgresStore, action_id: UUID) -> list[str]:
    found = await store.perform(store.circumstances(action_id, ANY, alive=ALIVE))
    return [reason.code for reason in reasons_of(found)]


@pytest.mark.parametrize("hold", HOLD.values(), ids=HOLD)
async def test_what_another_transaction_holds_is_named(
    store: PostgresStore, postgres_url: str, hold: str
) -> None:
    action, other = await add(store, 2)
    assert await codes(store, action) == []
    with another(postgres_url) as stranger:
        with stranger.transaction(force_rollback=True):
            stranger.execute(hold.encode(), (action,))
            assert await codes(store, action) == ["held-by-transaction"]
            assert await codes(store, other) == []
        assert await codes(store, action) == []


async def test_a_lock_in_a_released_savepoint_is_seen(
    store: PostgresStore, postgres_url: str
) -> None:
    [action] = await add(store)
    with another(postgres_url) as stranger, stranger.transaction(force_rollback=True):
        with stranger.transaction():
            lock(stranger, action)
        assert await codes(store, action) == ["held-by-transaction"]


async def test_a_lock_in_a_savepoint_that_was_rolled_back_is_none(
    store: PostgresStore, postgres_url: str
) -> None:
    [action] = await add(store)
    with another(postgres_url) as stranger, stranger.transaction(force_rollback=True):
        with stranger.transaction(force_rollback=True):
            lock(stranger, action)
        assert await codes(store, action) == []


async def test_asking_locks_nothing(store: PostgresStore, postgres_url: str) -> None:
    """The question is asked in an open transaction, while a claim passes over what is locked."""
    [action] = await add(store)
    with psycopg.connect(postgres_url) as reader:
        asked = store.join(reader)
        found = asked.perform_blocking(store.circumstances(action, ANY, alive=ALIVE))
        assert not found.held
        assert len(await claim(store)) == 1
