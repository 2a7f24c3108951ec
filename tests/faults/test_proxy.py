"""The proxy: what it carries, what it breaks, and what our store says on the wire."""

import time
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from api.apps import Note
from duetime import Duetime, Retry
from duetime.errors import StoreUnavailable
from duetime.model.act import Act
from duetime.model.actions.claim import Fence
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.sql.postgres.store import PostgresStore
from faults.pg_protocol import FLUSH
from faults.proxy import CLEAR, STALL, SWALLOW, Direction, Proxy
from faults.reply_dropper import ReplyDropper
from joining.transaction_kinds import (
    INSERT,
    ON_POSTGRES,
    HandlerTransaction,
    Kind,
    count_notes,
    make_notes,
)
from polling import in_time, until
from store.postgres_helpers import add, another, claim, count_sessions, find


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    running = Proxy(postgres_url)
    yield running
    running.close()


def connect(proxy: Proxy) -> psycopg.Connection:
    return psycopg.connect(proxy.url, autocommit=True, connect_timeout=5)


def test_it_carries_large_things_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        [row] = connection.execute("SELECT %s || 'x'", ("y" * 3_000_000,))
    assert len(row[0]) == 3_000_001


def test_a_cut_is_noticed_and_the_next_connection_is_well(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with connect(proxy) as connection:
        connection.execute("SELECT 1")


def test_it_refuses_until_it_is_healed(proxy: Proxy) -> None:
    proxy.refuse()
    with pytest.raises(psycopg.OperationalError):
        connect(proxy)
    proxy.heal()
    connect(proxy).close()


@pytest.mark.parametrize(
    ("up", "down"), [(SWALLOW, CLEAR), (CLEAR, SWALLOW), (STALL, CLEAR), (CLEAR, STALL)]
)
def test_a_silent_wire_is_given_up_in_time(
    proxy: Proxy, postgres_url: str, up: Direction, down: Direction
) -> None:
    store = PostgresStore(proxy.through(postgres_url), timeout=1, listen=False)
    store.migrate_blocking()
    proxy.shape(up=up, down=down)
    with in_time(), pytest.raises(StoreUnavailable, match="did not answer in time"):
        store.pending()
    proxy.heal()
    assert store.pending() == []
    store.close()


def test_a_slow_wire_is_slow(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        proxy.shape(down=Direction(rate=100))
        before = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - before > 0.3


async def test_the_reply_to_a_commit_can_be_lost(proxy: Proxy, postgres_url: str) -> None:
    with another(postgres_url) as admin:
        admin.execute("CREATE TABLE t (n int)")
    proxy.drop_reply(ReplyDropper("INSERT INTO t"))
    with connect(proxy) as connection, pytest.raises(psycopg.OperationalError):
        connection.execute("INSERT INTO t VALUES (1)")
    proxy.drop_reply(ReplyDropper("INSERT INTO t"))
    with connect(proxy) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("COMMIT")
    with another(postgres_url) as admin:
        assert admin.execute("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (2,)]


async def test_a_pipeline_ends_without_a_flush(proxy: Proxy, postgres_url: str) -> None:
    """A pooler in transaction mode would bind a session to an idle client for it."""
    store = PostgresStore(proxy.through(postgres_url), listen=False)
    await add(store, 3)
    [claimed, *_] = await claim(store)
    for _ in range(20):
        await store.perform(store.renew([Fence(claimed.id, claimed.token)], 10_000_000))
    store.perform_blocking(store.renew([Fence(claimed.id, claimed.token)], 10_000_000))
    assert await find(store) == 3
    assert proxy.seen["S"] > 20
    assert proxy.seen[FLUSH.decode()] == 0
    await store.aclose()


async def test_a_client_that_vanished_frees_its_rows(proxy: Proxy, postgres_url: str) -> None:
    """The server sees no end of the connection: the row must not stay locked until TCP notices."""
    store, other = (
        PostgresStore(url, timeout=2, listen=False) for url in (proxy.url, postgres_url)
    )
    [only] = await add(other)
    await find(store)
    proxy.mute_at("COMMIT")
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await store.perform(store.cancel(only, ANY, Act("me"), running=False))
    await until(lambda: not idle_in_transaction(postgres_url))
    later = await other.perform(
        other.reschedule(only, ANY, Act("me"), due_at=None, delay=5_000_000)
    )
    assert later.state is State.scheduled
    await store.aclose()
    await other.aclose()


# A plain function cannot be interrupted.
AWAITED = [name for name, (kind, _) in ON_POSTGRES.items() if kind.__name__.startswith("Async")]
MARK, COMPLETE = "set_config('duetime.transaction'", '"public"."duetime_history"'


@pytest.fixture
async def kind(request: pytest.FixtureRequest) -> AsyncIterator[Kind]:
    kind = Kind(*ON_POSTGRES[request.param])
    yield kind
    await kind.close()


@pytest.mark.parametrize("kind", ON_POSTGRES, indirect=True)
# Only on connections that are not the store's own are tables named in full.
@pytest.mark.parametrize("text", [MARK, COMPLETE, "COMMIT"], ids=["begin", "complete", "commit"])
async def test_what_we_ask_of_a_handlers_transaction_is_given_up_in_time(
    proxy: Proxy, postgres_url: str, kind: Kind, text: str
) -> None:
    """Its beginning, completion and commit reach no process: it has not happened, and costs
    no attempt. The server receives nothing more either, not even the end of the connection."""
    make_notes(postgres_url)
    runs: list[str] = []

    async def work(handler: HandlerTransaction) -> None:
        await handler.execute(INSERT)
        runs.append(text)
        if text != MARK and len(runs) == 1:
            proxy.mute_at(text)

    app = Duetime(proxy.url, sessions=kind.sessions(proxy.url), timeout=2, listen=False)
    kind.declare(app, work, retry=Retry.none())
    async with app, Duetime(postgres_url) as other, app.worker():
        if text == MARK:
            proxy.mute_at(text)
        action = await app.schedule(Note())
        ended = await other.wait(action.id, timeout=20)
    assert (ended.state, ended.attempt) == (State.succeeded, 1)
    assert (len(runs), count_notes(postgres_url)) == (1 if text == MARK else 2, 1)


@pytest.mark.parametrize("kind", AWAITED, indirect=True)
async def test_a_handler_whose_own_statement_was_swallowed_is_interrupted(
    proxy: Proxy, postgres_url: str, kind: Kind
) -> None:
    make_notes(postgres_url)
    runs: list[int] = []

    async def work(handler: HandlerTransaction) -> None:
        runs.append(handler.context.attempt)
        if len(runs) == 1:
            proxy.mute_at(INSERT)
        await handler.execute(INSERT)

    app = Duetime(proxy.url, sessions=kind.sessions(proxy.url), timeout=2, listen=False)
    kind.declare(app, work, retry=Retry(delays=[0]), timeout=1)
    async with app, Duetime(postgres_url) as other, app.worker():
        action = await app.schedule(Note())
        ended = await other.wait(action.id, timeout=25)
    assert (ended.state, runs) == (State.succeeded, [1, 2])
    assert count_notes(postgres_url) == 1


def idle_in_transaction(url: str) -> int:
    return count_sessions(url, "state = 'idle in transaction'")
