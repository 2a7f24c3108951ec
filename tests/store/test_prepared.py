"""Prepared statements: parsed once, valid after table changes, never used behind a pooler."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import Claim, Fence
from duetime.model.actions.completion import Reschedule
from duetime.model.state import Outcome
from duetime.store.sql.flows.add import PIPELINE_MIN_ROWS
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from faults.proxy import Proxy
from store.postgres_helpers import add, another, claim, finish, fresh

ROUNDS = 5


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    created = Proxy(postgres_url)
    yield created
    created.close()


@pytest.fixture
def store(proxy: Proxy) -> Iterator[PostgresStore]:
    created = PostgresStore(proxy.url, listen=False, timeout=4)
    yield created
    created.close()


async def finish_all(store: PostgresStore, claims: Sequence[Claim]) -> set[UUID]:
    leases = [Fence(action.id, action.token) for action in claims]
    await store.perform(store.renew(leases, 60_000_000))
    done = await store.perform(store.complete([finish(action) for action in claims]))
    return set(done.applied)


async def work(store: PostgresStore) -> None:
    """Run each statement that workers repeat."""
    added = await add(store, 3)
    claims = await claim(store)
    assert {action.id for action in claims} == set(added)
    assert await finish_all(store, claims) == set(added)


async def claim_one(store: PostgresStore) -> Claim:
    await add(store)
    [action] = await claim(store)
    return action


async def count_parsed(store: PostgresStore, proxy: Proxy) -> int:
    """Return how many statements the server parses for a claim, a renewal and a completion."""
    await add(store, 3)
    before = proxy.seen["P"]
    await finish_all(store, await claim(store))
    return proxy.seen["P"] - before


async def test_a_hot_statement_is_parsed_once(store: PostgresStore, proxy: Proxy) -> None:
    # The first message asks for the backend process, and nothing is prepared before its answer.
    assert await count_parsed(store, proxy) == 5
    assert await count_parsed(store, proxy) == 2
    for _ in range(ROUNDS):
        assert await count_parsed(store, proxy) == 0


async def test_a_claim_is_sent_whole_within_one_pass_of_the_loop(
    store: PostgresStore, postgres_url: str
) -> None:
    """The server must not wait for a loop that is busy with handlers."""
    await work(store)
    await add(store)
    claiming = asyncio.create_task(claim(store))
    await asyncio.sleep(0)
    with another(postgres_url) as observer:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not is_claimed(observer):
            pass  # and nothing else happens in this loop
        assert is_claimed(observer)
    assert len(await claiming) == 1


def is_claimed(connection: Connection) -> bool:
    query = "SELECT count(*) FROM duetime_actions WHERE token IS NOT NULL"
    [(count,)] = connection.execute(query).fetchall()
    return bool(count)


async def test_nothing_is_prepared_behind_a_pooler(store: PostgresStore, proxy: Proxy) -> None:
    """A pooler reports another backend process than the one that answers."""
    proxy.pose_as_pooler()
    for _ in range(ROUNDS):
        assert await count_parsed(store, proxy) == 6
    assert proxy.named == 0


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_bulk_insert_is_parsed_once(
    store: PostgresStore, proxy: Proxy, blocking: bool
) -> None:
    for _ in range(2):
        await add_many(store, blocking)
    before = proxy.seen["P"]
    for _ in range(ROUNDS):
        await add_many(store, blocking)
    assert proxy.seen["P"] == before
    assert proxy.named > 0


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_pooler_reports_its_backend_once(
    store: PostgresStore, proxy: Proxy, blocking: bool
) -> None:
    proxy.pose_as_pooler()
    await add_many(store, blocking)
    before = proxy.seen["P"]
    for _ in range(ROUNDS):
        await add_many(store, blocking)
    assert proxy.seen["P"] - before == ROUNDS
    assert proxy.named == 0


async def add_many(store: PostgresStore, blocking: bool) -> None:
    """Insert many actions that are due too late for a NOTIFY."""
    adding = store.add(fresh(PIPELINE_MIN_ROWS, delay=3_600_000_000), "return")
    added = store.perform_blocking(adding) if blocking else await store.perform(adding)
    assert len(added) == PIPELINE_MIN_ROWS


CHANGES = {
    "columns": "ALTER TABLE duetime_actions ADD COLUMN more text DEFAULT 'x';"
    "ALTER TABLE duetime_history ADD COLUMN more text DEFAULT 'x'",
    # As a migration of a newer version may do while this version runs.
    "type": "ALTER TABLE duetime_actions ALTER COLUMN losses TYPE integer",
    "index": "REINDEX TABLE duetime_actions; ANALYZE",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_prepared_statements_survive_a_change_of_the_tables(
    store: PostgresStore, postgres_url: str, change: str
) -> None:
    for _ in range(2):
        await work(store)
        await add_many(store, blocking=False)
    with another(postgres_url) as admin:
        admin.execute(change.encode())
    await work(store)
    await add_many(store, blocking=False)


async def test_an_unknown_prepared_statement_costs_only_its_connection(
    store: PostgresStore, postgres_url: str
) -> None:
    """psycopg assumes that a refused statement is prepared, if it had sent it unprepared before."""
    first, other, third = [await claim_one(store) for _ in range(3)]
    again = Reschedule(id=other.id, token=other.token, outcome=Outcome.retried, delay=0)
    await store.perform(store.complete([finish(first), again]))
    with another(postgres_url) as admin, admin.transaction():
        admin.execute("LOCK TABLE duetime_history IN SHARE MODE")
        with pytest.raises(StoreUnavailable):
            await store.perform(store.complete([finish(third)]))
    assert (await store.perform(store.complete([finish(third)]))).applied == {third.id}


async def test_a_blocking_call_is_prepared_too(store: PostgresStore, proxy: Proxy) -> None:
    await add(store)
    [action] = await claim(store)
    renewal = [Fence(action.id, action.token)]
    for _ in range(3):
        store.perform_blocking(store.renew(renewal, 60_000_000))
    before = proxy.seen["P"]
    store.perform_blocking(store.renew(renewal, 60_000_000))
    assert proxy.seen["P"] == before
