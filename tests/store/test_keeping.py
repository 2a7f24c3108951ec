"""Plans that a session keeps: sent once, still right when tables change, and never to a pooler."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import Claim, Lease
from duetime.model.actions.completion import Again
from duetime.model.state import Outcome
from duetime.store.sql.flows.add import MANY
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from faults.proxy import Proxy
from store.sql_kit import add, another, claim, finish, fresh

ROUNDS = 5


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    made = Proxy(postgres_url)
    yield made
    made.close()


@pytest.fixture
def store(proxy: Proxy) -> Iterator[PostgresStore]:
    made = PostgresStore(proxy.url, listen=False, timeout=4)
    yield made
    made.close()


async def end(store: PostgresStore, claims: Sequence[Claim]) -> set[UUID]:
    leases = [Lease(one.id, one.token) for one in claims]
    await store.perform(store.renew(leases, 60_000_000))
    done = await store.perform(store.complete([finish(one) for one in claims]))
    return set(done.ended)


async def work(store: PostgresStore) -> None:
    """One of each that workers repeat."""
    added = await add(store, 3)
    claims = await claim(store)
    assert {one.id for one in claims} == set(added)
    assert await end(store, claims) == set(added)


async def only(store: PostgresStore) -> Claim:
    await add(store)
    [one] = await claim(store)
    return one


async def parsed(store: PostgresStore, proxy: Proxy) -> int:
    """How many statements are taken apart by the server for a claim, a renewal and an end."""
    await add(store, 3)
    before = proxy.seen["P"]
    await end(store, await claim(store))
    return proxy.seen["P"] - before


async def test_a_statement_of_the_hot_path_is_sent_once(store: PostgresStore, proxy: Proxy) -> None:
    # The first message asks who answers, and can name nothing yet.
    assert await parsed(store, proxy) == 5
    assert await parsed(store, proxy) == 2
    for _ in range(ROUNDS):
        assert await parsed(store, proxy) == 0


async def test_a_claim_is_sent_whole_before_the_loop_turns_to_anything_else(
    store: PostgresStore, postgres_url: str
) -> None:
    """A loop that is busy with handlers comes round seldom: the server works meanwhile."""
    await work(store)
    await add(store)
    claiming = asyncio.create_task(claim(store))
    await asyncio.sleep(0)
    with another(postgres_url) as somebody:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not _claimed(somebody):
            pass  # and nothing else happens in this loop
        assert _claimed(somebody)
    assert len(await claiming) == 1


def _claimed(connection: Connection) -> bool:
    asked = "SELECT count(*) FROM duetime_actions WHERE token IS NOT NULL"
    [(count,)] = connection.execute(asked).fetchall()
    return bool(count)


async def test_a_pooler_is_asked_to_keep_nothing(store: PostgresStore, proxy: Proxy) -> None:
    """It says that it is another process than the one that answers."""
    proxy.pose_as_pooler()
    for _ in range(ROUNDS):
        assert await parsed(store, proxy) == 6
    assert proxy.named == 0


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_plan_for_many_new_ones_is_sent_once(
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
async def test_a_pooler_is_asked_once_who_answers(
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
    """Nobody need be told of them now."""
    adding = store.add(fresh(MANY, delay=3_600_000_000), "return")
    added = store.perform_blocking(adding) if blocking else await store.perform(adding)
    assert len(added) == MANY


CHANGES = {
    "columns": "ALTER TABLE duetime_actions ADD COLUMN more text DEFAULT 'x';"
    "ALTER TABLE duetime_history ADD COLUMN more text DEFAULT 'x'",
    # As a newer version may do while this one goes on.
    "type": "ALTER TABLE duetime_actions ALTER COLUMN losses TYPE integer",
    "index": "REINDEX TABLE duetime_actions; ANALYZE",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_what_is_kept_survives_a_change_of_the_tables(
    store: PostgresStore, postgres_url: str, change: str
) -> None:
    for _ in range(2):
        await work(store)
        await add_many(store, blocking=False)
    with another(postgres_url) as admin:
        admin.execute(change.encode())
    await work(store)
    await add_many(store, blocking=False)


async def test_a_statement_that_the_session_does_not_know_costs_its_connection_only(
    store: PostgresStore, postgres_url: str
) -> None:
    """psycopg believes in one that was refused, if it had sent it before by other means."""
    one, other, third = [await only(store) for _ in range(3)]
    again = Again(id=other.id, token=other.token, outcome=Outcome.retried, delay=0)
    await store.perform(store.complete([finish(one), again]))
    with another(postgres_url) as admin, admin.transaction():
        admin.execute("LOCK TABLE duetime_history IN SHARE MODE")
        with pytest.raises(StoreUnavailable):
            await store.perform(store.complete([finish(third)]))
    assert (await store.perform(store.complete([finish(third)]))).ended == {third.id}


async def test_a_blocking_call_keeps_its_plan_too(store: PostgresStore, proxy: Proxy) -> None:
    await add(store)
    [one] = await claim(store)
    renewal = [Lease(one.id, one.token)]
    for _ in range(3):
        store.perform_blocking(store.renew(renewal, 60_000_000))
    before = proxy.seen["P"]
    store.perform_blocking(store.renew(renewal, 60_000_000))
    assert proxy.seen["P"] == before
