"""The PostgreSQL store receives the wakes of other processes."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from duetime.model.actions.claim import WorkerInfo
from duetime.model.filter import Filter
from duetime.store.flow import Statement, Wake
from duetime.store.sql.postgres import listener
from duetime.store.sql.postgres.listener import PostgresListener
from duetime.store.sql.postgres.notify import ping_message, wake_message
from duetime.store.sql.postgres.pools import AsyncConnection
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements.loader import StatementLoader
from duetime.store.sql.statements.table_names import TableNames
from polling import until
from store.postgres_helpers import another, end_others, new

Listening = tuple[asyncio.Queue[Sequence[Wake]], PostgresStore, PostgresListener]


class TestListening:
    @pytest_asyncio.fixture
    async def listening(self, postgres_url: str) -> AsyncIterator[Listening]:
        """A store that listens, and the queue of the wakes it receives."""
        queue: asyncio.Queue[Sequence[Wake]] = asyncio.Queue()
        here = PostgresStore(postgres_url)
        await here.perform(here.find(Filter()))
        async with here.listen(queue.put_nowait) as remote:
            assert await asyncio.wait_for(queue.get(), 5) == ()
            assert isinstance(remote, PostgresListener)
            assert remote.alive
            yield queue, here, remote
        await here.aclose()

    async def test_wakes_of_another_process_arrive(
        self,
        listening: Listening,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = listening
        [added] = await store.perform(store.add([new(lane="1.0.a\tb\nc")], "return"))
        [wake] = await asyncio.wait_for(queue.get(), 5)
        assert (wake.lane, wake.due_at) == ("1.0.a\tb\nc", added.record.due_at)

    async def test_our_own_wakes_arrive_once(
        self,
        listening: Listening,
        store: PostgresStore,
    ) -> None:
        queue, here, _ = listening
        await here.perform(here.add([new(lane="1.0.ours")], "return"))
        await store.perform(store.add([new(lane="1.0.theirs")], "return"))
        lanes = [(await asyncio.wait_for(queue.get(), 5))[0].lane for _ in range(2)]
        assert lanes == ["1.0.ours", "1.0.theirs"]

    async def test_wakes_later_than_the_next_poll_are_not_sent(
        self,
        listening: Listening,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = listening
        await store.perform(store.add([new(lane="1.0.far", delay=3_600_000_000)], "return"))
        await store.perform(store.add([new(lane="1.0.near")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "1.0.near"

    async def test_many_wakes_share_few_messages(
        self, listening: Listening, store: PostgresStore
    ) -> None:
        queue, _, _ = listening
        await asyncio.gather(
            *(store.perform(store.add([new(lane=f"1.0.lane-{i}")], "return")) for i in range(300))
        )
        all_lanes = {f"1.0.lane-{i}" for i in range(300)}
        lanes: set[str] = set()
        messages = 0
        while lanes < all_lanes:
            wakes = await asyncio.wait_for(queue.get(), 5)
            # A message that would be too long wakes all lanes instead.
            lanes |= {wake.lane for wake in wakes} or all_lanes
            messages += 1
        assert messages < 200

    async def test_pending_wakes_are_sent_before_closing(
        self, listening: Listening, postgres_url: str
    ) -> None:
        queue, _, _ = listening
        store = PostgresStore(postgres_url)
        store._throttle._tokens, store._throttle._refilled_at = 0, float("inf")
        await store.perform(store.add([new(lane="1.0.last words")], "return"))
        await store.aclose()
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "1.0.last words"

    async def test_more_lanes_than_a_message_holds(
        self,
        listening: Listening,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = listening
        many = [new(lane=f"1.0.{'x' * 100}{i}") for i in range(200)]
        await store.perform(store.add(many, "return"))
        assert await asyncio.wait_for(queue.get(), 5) == []

    async def test_foreign_messages_are_ignored(
        self,
        listening: Listening,
        store: PostgresStore,
        postgres_url: str,
    ) -> None:
        queue, here, _ = listening
        channel = here._loader.names.channel
        with another(postgres_url) as other:
            for payload in ("", "x", "[]", "{}", '{"due": 5, "from": 1}', '{"due":[[1]],"from":1}'):
                other.execute("SELECT pg_notify(%s, %s)", (channel, payload))
            other.execute("SELECT pg_notify(%s, %s)", (channel, ping_message("other", 7)))
        await store.perform(store.add([new(lane="1.0.real")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "1.0.real"

    async def test_a_listener_that_lost_its_connection_reconnects_and_wakes(
        self,
        listening: Listening,
        store: PostgresStore,
        postgres_url: str,
    ) -> None:
        queue, _, _ = listening
        end_others(postgres_url)
        assert await asyncio.wait_for(queue.get(), 10) == ()
        await store.perform(store.add([new(lane="1.0.after")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "1.0.after"

    async def test_the_sweeps_ping_keeps_a_listener_alive(
        self,
        listening: Listening,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        _, here, remote = listening
        monkeypatch.setattr(listener, "PING_TIMEOUT_SECONDS", 0.2)
        await here.perform(here.sweep(WorkerInfo("w", "a", "h", 1, [], [], 1), 0, 1))
        await until(lambda: remote._last_ping == 1)
        assert remote.alive

    async def test_a_deaf_listener_is_detected_and_reconnects(
        self,
        listening: Listening,
        postgres_url: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        queue, here, remote = listening
        monkeypatch.setattr(listener, "PING_TIMEOUT_SECONDS", 0.2)
        remote.expect(1)  # a ping that never comes, as behind a pooler
        assert await asyncio.wait_for(queue.get(), 10) == ()
        assert not remote.alive, "reconnected, but no ping has proved yet that it receives messages"
        await here.perform(here.sweep(WorkerInfo("w", "a", "h", 1, [], [], 1), 0, 1))
        await until(lambda: remote.alive)

    async def test_after_a_long_outage_it_soon_listens_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Long backoffs are for deaf connections, not for a server that may be back."""
        monkeypatch.setattr(listener, "FIRST_BACKOFF_SECONDS", 0.001)
        monkeypatch.setattr(listener, "MAX_OUTAGE_BACKOFF_SECONDS", 0.002)
        attempts: list[None] = []

        async def unreachable() -> AsyncConnection:
            attempts.append(None)
            raise OSError("unreachable")

        remote = PostgresListener(unreachable, "channel", "me", lambda _: None)
        task = asyncio.create_task(remote.run())
        await until(lambda: len(attempts) > 30)
        task.cancel()

    async def test_without_listen_it_is_never_alive(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, listen=False)
        async with store.listen(lambda _: None) as remote:
            await store.perform(store.find(Filter()))
            assert not remote.alive
        await store.aclose()

    def test_a_message_is_never_too_long(self) -> None:
        wakes = [Wake("é" * 50, i, 0) for i in range(1000)]
        assert len(wake_message("me", wakes).encode()) < 8000


class TestNotifying:
    """A lone NOTIFY may be lost in a crash of the server; a caller's commit must not."""

    SHOW = "SHOW synchronous_commit"

    async def test_a_callers_commit_still_waits_for_the_disk(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        with another(postgres_url) as caller, caller.transaction():
            await store.perform(store.find(Filter()))  # makes the tables
            store.join(caller).perform_blocking(store.add([new()], "return"))
            assert caller.execute(self.SHOW).fetchone() == ("on",)

    def test_a_lone_notify_does_not_wait_for_the_disk(self, postgres_url: str) -> None:
        values = {"channel": "c", "message": "m", "alone": True}
        text, params = StatementLoader("postgres", TableNames()).bind(
            Statement("notify", values), None
        )
        with another(postgres_url) as connection:
            with connection.transaction():
                connection.execute(text.encode(), params)
                assert connection.execute(self.SHOW).fetchone() == ("off",)
            assert connection.execute(self.SHOW).fetchone() == ("on",)
