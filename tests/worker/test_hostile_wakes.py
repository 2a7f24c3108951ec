"""Whatever a stranger sends on the channel of wakes, workers go on, and operators are informed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import sql

from duetime import Duetime
from duetime.model.actions.claim import Claimed
from duetime.model.health.checks import CheckResult, Level, judge_work
from duetime.model.health.worker import HEALTHY, WorkerHealth
from duetime.store.flow import Flow, Wake
from duetime.store.sql.postgres import listener
from duetime.store.sql.postgres.listener import PostgresListener
from duetime.store.sql.postgres.notify import ping_message
from duetime.store.sql.postgres.store import PostgresStore
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.worker import Worker
from hostile_wakes import LIES, REFUSED, mutated
from polling import until
from servers import Server

# No sweep comes to the rescue within a test.
SETTINGS: Any = {"sweep": 60, "poll": 60, "lease": 60}


@dataclass(frozen=True)
class Note:
    text: str = "x"


def declare(app: Duetime) -> Duetime:
    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    return app


class Attack:
    """A worker, a client in another process as it were, and a stranger who sends messages."""

    def __init__(
        self, worker: Worker, app: Duetime, client: Duetime, stranger: psycopg.AsyncConnection
    ) -> None:
        self.worker = worker
        self.client = client
        self._stranger = stranger
        self._pings = count(1_000_000)
        assert isinstance(app.store, PostgresStore)
        self.store = app.store
        self._channel = app.store._loader.names.channel

    @property
    def listener(self) -> PostgresListener:
        [listener] = self.store._remote_listeners
        return listener

    async def send(self, *messages: str) -> None:
        for message in messages:
            await self._stranger.execute("SELECT pg_notify(%s, %s)", (self._channel, message))

    async def received(self) -> None:
        """Wait until the worker's listener has read all that was sent."""
        end = next(self._pings)
        self.listener.expect(end)
        await self.send(ping_message(self.store._sender, end))
        await until(lambda: self.listener._last_ping == end)

    async def check_alive(self) -> None:
        action = await self.client.schedule(Note())
        assert (await self.client.wait(action.id, timeout=10)).result == "x"
        assert self.listener.alive

    async def health(self) -> WorkerHealth:
        """Return what the worker's next sweep reports to operators."""
        await self.worker._sweeper.sweep()
        [worker] = (await self.client.stats()).workers
        return worker.health

    async def judged(self, check: str) -> CheckResult:
        """Return what doctor makes of it."""
        await self.worker._sweeper.sweep()
        [result] = [r for r in judge_work(await self.client.stats()) if r.check == check]
        return result


@asynccontextmanager
async def attacked(url: str) -> AsyncIterator[Attack]:
    app, client = declare(Duetime(url, **SETTINGS)), Duetime(url)
    client.payload(Note, kind="note")
    stranger = await psycopg.AsyncConnection.connect(url, autocommit=True)
    async with stranger, app, client, app.worker() as worker:
        attack = Attack(worker, app, client, stranger)
        await until(lambda: attack.listener.alive)
        yield attack


@pytest.mark.parametrize("text", [*REFUSED.values(), *LIES.values()], ids=[*REFUSED, *LIES])
async def test_a_worker_still_runs_actions_after_a_forged_message(
    postgres_url: str, text: str
) -> None:
    async with attacked(postgres_url) as attack:
        await attack.send(text)
        await attack.received()
        await attack.check_alive()


async def test_a_worker_still_runs_actions_in_a_storm_of_forged_messages(postgres_url: str) -> None:
    rng = Random(1)
    async with attacked(postgres_url) as attack:
        for _ in range(20):
            await attack.send(*(mutated(rng) for _ in range(20)), *LIES.values())
            await attack.check_alive()


async def test_made_up_suspects_keep_no_neighbour_waiting(postgres_url: str) -> None:
    """Suspects are claimed before all others, each alone: a thousand of them would take seconds."""
    async with attacked(postgres_url) as attack:
        claims = count_claims(attack.store)
        await attack.send(*[LIES["hundreds of suspects"]] * 10)
        await attack.received()
        await attack.check_alive()
        assert len(claims) < 20


async def test_lanes_that_the_database_cannot_encode_stop_no_claims(
    postgres_server: Server,
) -> None:
    name = f"duetime_latin1_{secrets.token_hex(6)}"
    latin1 = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with psycopg.connect(postgres_server.url, autocommit=True) as admin:
        admin.execute(latin1.format(sql.Identifier(name)))
    try:
        async with attacked(postgres_server.database_url(name)) as attack:
            for _ in range(5):
                await attack.send('{"from":"x","due":[["3.0.\\u65e5\\u672c",1]]}')
                await attack.received()
                await attack.check_alive()
    finally:
        postgres_server.drop_database(name)


def count_claims(store: PostgresStore) -> list[object]:
    """Count the claims that the store performs from now on."""
    claims: list[object] = []
    perform = store.perform

    async def counted(flow: Flow[object]) -> object:
        found = await perform(flow)
        claims.extend([found] if isinstance(found, Claimed) else [])
        return found

    store.perform = counted  # type: ignore[method-assign, assignment]
    return claims


async def test_what_was_refused_is_counted_and_logged_once(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with attacked(postgres_url) as attack:
        await attack.send(*["forged"] * 50)
        await until(lambda: attack.listener.refused_wakes == 50)
        assert (await attack.health()).refused_wakes == 50
        assert (await attack.judged("wakes")).level is Level.warning
    lines = [line for line in caplog.messages if "refused a message" in line]
    assert len(lines) == 1
    assert "'forged'" in lines[0]


async def test_a_wake_that_the_worker_cannot_take_ends_no_listener(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    woken = Claimer.woken

    def fail_on_some(self: Claimer, wakes: Sequence[Wake]) -> None:
        if any("poison" in wake.lane for wake in wakes):
            raise RuntimeError("nobody foresaw this")
        woken(self, wakes)

    monkeypatch.setattr(Claimer, "woken", fail_on_some)
    async with attacked(postgres_url) as attack:
        await attack.send('{"from":"x","due":[["1.0.poison",1]]}')
        await attack.received()
        await attack.check_alive()
    assert "drops a wake that failed" in caplog.text


async def test_a_made_up_lane_on_which_each_claim_fails_is_forgotten(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should a hint pass all checks and still make every claim fail, others are claimed again."""
    claim = PostgresStore.claim

    def fail_on_some(self: PostgresStore, order: object) -> Flow[Claimed]:
        if any("poison" in span.lane for span in order.spans):  # type: ignore[attr-defined]
            raise RuntimeError("nobody foresaw this")
        return claim(self, order)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresStore, "claim", fail_on_some)
    async with attacked(postgres_url) as attack:
        await attack.send('{"from":"x","due":[["1.0.poison",1]]}')
        await attack.received()
        await attack.check_alive()


async def test_operators_see_that_claims_are_failing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: PostgresStore, order: object) -> Flow[Claimed]:
        raise RuntimeError("nobody foresaw this")

    async with attacked(postgres_url) as attack:
        assert (await attack.judged("problems")).level is Level.ok
        monkeypatch.setattr(PostgresStore, "claim", refuse)
        await attack.client.schedule(Note())
        await until(lambda: attack.worker._claimer.service.problem)
        assert (await attack.health()).problems == ("claim is failing: nobody foresaw this",)
        judged = await attack.judged("problems")
        assert judged.level is Level.failure
        assert "claim is failing: nobody foresaw this" in judged.figure
        monkeypatch.undo()
        await attack.check_alive()
        assert (await attack.judged("problems")).level is Level.ok


async def test_operators_see_that_a_worker_is_not_listening(
    postgres_url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "PROBLEM_AFTER_SECONDS", 0.0)
    async with attacked(postgres_url) as attack:
        assert (await attack.health()).problems == ()
        with connections_refused(postgres_server, postgres_url):
            await until(lambda: not attack.listener.alive)
            [problem] = (await attack.health()).problems
            assert problem.startswith("not listening for ")
            assert "server closed the connection" in problem or "not accepting" in problem
            assert (await attack.judged("problems")).level is Level.failure
        await until(lambda: attack.listener.alive)
        assert (await attack.health()).problems == ()


@contextmanager
def connections_refused(server: Server, url: str) -> Iterator[None]:
    """Let the database accept no new connections, and end the one that listens."""
    name = sql.Identifier(url.rsplit("/", 1)[1])
    allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(allow.format(name, sql.SQL("false")))
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = %s AND query LIKE 'LISTEN%%'",
            (url.rsplit("/", 1)[1],),
        )
        try:
            yield
        finally:
            admin.execute(allow.format(name, sql.SQL("true")))


async def test_without_listen_nothing_is_amiss(postgres_url: str) -> None:
    async with declare(Duetime(postgres_url, listen=False)) as app, app.worker() as worker:
        await worker._sweeper.sweep()
        [found] = (await app.stats()).workers
        assert found.health == HEALTHY
