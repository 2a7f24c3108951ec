"""Everything works by way of PgBouncer in transaction mode, with fewer sessions than clients."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from api.apps import Note, Other
from duetime import Duetime, State
from duetime.errors import ActionNotFound
from duetime.model.actions.claim import Fence
from duetime.store.sql.flows.add import INSERT_BATCH_SIZE
from duetime.store.sql.postgres import listener
from duetime.store.sql.postgres.store import PostgresStore
from faults.pooler import NoPooler, Pooler
from polling import until
from servers import Server
from store.postgres_helpers import add, another, claim, find

Pooled = Callable[[int], str]


@pytest.fixture
def pooled(postgres_server: Server, postgres_url: str) -> Iterator[Pooled]:
    """The URL of an empty database behind a pooler with so many sessions."""
    poolers: list[Pooler] = []

    def start(size: int) -> str:
        try:
            poolers.append(Pooler(postgres_server, size))
        except NoPooler as reason:
            pytest.skip(f"no PgBouncer: {reason}")
        return poolers[-1].through(postgres_url)

    yield start
    for pooler in poolers:
        pooler.close()


def app_on(url: str, **settings: object) -> Duetime:
    app = Duetime(url, **settings)  # type: ignore[arg-type]

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    return app


async def test_idle_clients_hold_no_session(pooled: Pooled) -> None:
    url = pooled(1)
    stores = [PostgresStore(url, listen=False, timeout=5) for _ in range(4)]
    await add(stores[0])
    [claimed] = await claim(stores[0])
    # Each call could leave the only session bound to a client that has nothing more to say.
    for _ in range(300):
        await stores[0].perform(stores[0].renew([Fence(claimed.id, claimed.token)], 60_000_000))
        assert await find(stores[1]) == 1
    for store in stores:
        assert await find(store) == 1
        await store.aclose()


async def test_two_workers_and_blocking_clients_share_two_sessions(pooled: Pooled) -> None:
    url = pooled(2)
    apps = [app_on(url, listen=False, poll_unheard=0.2) for _ in range(3)]
    async with apps[0].worker(), apps[1].worker():
        actions = await asyncio.gather(*(apps[2].schedule(Note(str(n))) for n in range(50)))
        actions += await asyncio.to_thread(
            lambda: [apps[2].sync.schedule(Note()) for _ in range(5)]
        )
        ended = await asyncio.gather(*(apps[2].wait(action.id, timeout=20) for action in actions))
    assert {action.state for action in ended} == {State.succeeded}
    assert all([len(await apps[2].runs(action.id)) == 1 for action in actions])
    for app in apps:
        await app.aclose()


async def test_many_that_are_sent_by_the_part_share_a_session(pooled: Pooled) -> None:
    """No plan is kept where the next call may meet another session, nor a session between calls."""
    url = pooled(1)
    apps, count = [app_on(url, listen=False) for _ in range(2)], 2 * INSERT_BATCH_SIZE + 1
    for app in (*apps, *apps):
        await app.schedule_many(app.request(Note(str(n))) for n in range(count))
        await asyncio.to_thread(app.sync.schedule_many, [app.request(Note())] * count)
    assert (await apps[0].stats()).scheduled == 8 * count
    for app in apps:
        await app.aclose()


async def test_transactional_handlers_have_their_effect_once(
    pooled: Pooled, postgres_url: str
) -> None:
    """Their sessions change from run to run; so do those that their connections are cleared in."""
    app = Duetime(pooled(2), listen=False, poll_unheard=0.2, concurrency=4)
    with another(postgres_url) as admin:
        admin.execute("CREATE TABLE effects (text text)")

    @app.handler(kind="note", transactional=True)
    async def note(payload: Note, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("SET LOCAL work_mem = '1MB'")
        await connection.execute("INSERT INTO effects VALUES (%s)", (payload.text,))
        await app.schedule(Other())

    @app.handler(kind="other", transactional=True)
    def other(payload: Other, connection: psycopg.Connection[Any]) -> str:
        connection.execute("INSERT INTO effects VALUES ('other')")
        [row] = connection.execute("SHOW work_mem")
        return str(row[0])

    async with app, app.worker():
        actions = [await app.schedule(Note(str(n))) for n in range(20)]
        ended = [await app.wait(action.id, timeout=30) for action in actions]
        others = [await app.wait(action.id, timeout=30) for action in await app.find(kind="other")]
    assert {(action.state, action.attempt, action.losses) for action in ended} == {
        (State.succeeded, 1, 0)
    }
    assert [action.result for action in others] == ["4MB"] * 20
    with another(postgres_url) as admin:
        [row] = admin.execute("SELECT count(*), count(DISTINCT text) FROM effects")
    assert row == (40, 21)


async def test_a_callers_transaction_is_joined(pooled: Pooled) -> None:
    url = pooled(2)
    app = app_on(url, listen=False)
    with psycopg.connect(url, prepare_threshold=None) as mine:
        kept = app.sync.schedule(Note(), delay=60, key="k", connection=mine)
        app.sync.reschedule(kept.id, delay=90, connection=mine)
    with psycopg.connect(url, prepare_threshold=None) as mine:
        gone = app.sync.schedule(Note(), delay=60, key="gone", connection=mine)
        mine.rollback()
    async with await psycopg.AsyncConnection.connect(url, prepare_threshold=None) as theirs:
        cancelled = await app.schedule(Note(), delay=60, connection=theirs)
        await app.cancel(cancelled.id, connection=theirs)
    assert (await app.get(kept.id)).state is State.scheduled
    assert (await app.get(cancelled.id)).state is State.cancelled
    with pytest.raises(ActionNotFound):
        await app.get(gone.id)
    await app.aclose()


async def test_a_listener_that_receives_nothing_says_so_and_polls(
    pooled: Pooled, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "PING_TIMEOUT_SECONDS", 0.2)
    url = pooled(2)
    app, elsewhere = app_on(url, poll=60, sweep=60, poll_unheard=0.1), app_on(url)
    with caplog.at_level(logging.WARNING, "duetime.store"):
        async with app.worker():
            await until(lambda: "not listening, polling faster" in caplog.text)
            action = await elsewhere.schedule(Note("polled"))
            assert (await elsewhere.wait(action.id, timeout=10)).result == "polled"
    await app.aclose()
    await elsewhere.aclose()


def test_migrations_go_through_it(pooled: Pooled) -> None:
    url = pooled(1)
    store = PostgresStore(url)
    assert store.pending() != []
    store.migrate_blocking()
    assert store.pending() == []
    store.close()
