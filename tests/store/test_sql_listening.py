"""The PostgreSQL store hears what other processes make due."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from awaiting import until
from duetime.model.actions.claim import Presence
from duetime.model.filter import Filter
from duetime.store.flow import Statement, Wake
from duetime.store.sql.postgres import listener
from duetime.store.sql.postgres.listener import PostgresListener
from duetime.store.sql.postgres.notify import ping_message, wake_message
from duetime.store.sql.postgres.pools import AsyncConnection
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements.loader import Loader
from duetime.store.sql.statements.table_names import Names
from store.sql_kit import another, end_others, new

Heard = tuple[asyncio.Queue[Sequence[Wake]], PostgresStore, PostgresListener]


class TestListening:
    @pytest_asyncio.fixture
    async def heard(self, postgres_url: str) -> AsyncIterator[Heard]:
        """A process that listens, and what it hears."""
        queue: asyncio.Queue[Sequence[Wake]] = asyncio.Queue()
        here = PostgresStore(postgres_url)
        await here.perform(here.find(Filter()))
        async with here.listen(queue.put_nowait) as ear:
            assert await asyncio.wait_for(queue.get(), 5) == ()
            assert isinstance(ear, PostgresListener)
            assert ear.alive
            yield queue, here, ear
        await here.aclose()

    async def test_another_process_is_heard(
        self,
        heard: Heard,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = heard
        [added] = await store.perform(store.add([new(lane="a\tb\nc")], "return"))
        [wake] = await asyncio.wait_for(queue.get(), 5)
        assert (wake.lane, wake.due_at) == ("a\tb\nc", added.record.due_at)

    async def test_our_own_wakes_are_heard_once(
        self,
        heard: Heard,
        store: PostgresStore,
    ) -> None:
        queue, here, _ = heard
        await here.perform(here.add([new(lane="ours")], "return"))
        await store.perform(store.add([new(lane="theirs")], "return"))
        lanes = [(await asyncio.wait_for(queue.get(), 5))[0].lane for _ in range(2)]
        assert lanes == ["ours", "theirs"]

    async def test_what_is_due_later_than_the_next_poll_is_not_told(
        self,
        heard: Heard,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = heard
        await store.perform(store.add([new(lane="far", delay=3_600_000_000)], "return"))
        await store.perform(store.add([new(lane="near")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "near"

    async def test_a_storm_of_wakes_shares_few_notices(
        self, heard: Heard, store: PostgresStore
    ) -> None:
        queue, _, _ = heard
        await asyncio.gather(
            *(store.perform(store.add([new(lane=f"lane-{i}")], "return")) for i in range(300))
        )
        every = {f"lane-{i}" for i in range(300)}
        lanes: set[str] = set()
        notices = 0
        while lanes < every:
            told = await asyncio.wait_for(queue.get(), 5)
            # What is too long for a message wakes for every lane.
            lanes |= {wake.lane for wake in told} or every
            notices += 1
        assert notices < 200

    async def test_what_was_gathered_is_sent_before_closing(
        self, heard: Heard, postgres_url: str
    ) -> None:
        queue, _, _ = heard
        store = PostgresStore(postgres_url)
        store._bell._strokes, store._bell._counted_at = 0, float("inf")
        await store.perform(store.add([new(lane="last words")], "return"))
        await store.aclose()
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "last words"

    async def test_more_lanes_than_a_message_holds(
        self,
        heard: Heard,
        store: PostgresStore,
    ) -> None:
        queue, _, _ = heard
        many = [new(lane=f"{'x' * 100}{i}") for i in range(200)]
        await store.perform(store.add(many, "return"))
        assert await asyncio.wait_for(queue.get(), 5) == []

    async def test_what_others_shout_is_ignored(
        self,
        heard: Heard,
        store: PostgresStore,
        postgres_url: str,
    ) -> None:
        queue, here, _ = heard
        channel = here._loader.names.channel
        with another(postgres_url) as stranger:
            for shout in ("", "x", "[]", "{}", '{"due": 5, "from": 1}', '{"due":[[1]],"from":1}'):
                stranger.execute("SELECT pg_notify(%s, %s)", (channel, shout))
            stranger.execute("SELECT pg_notify(%s, %s)", (channel, ping_message("other", 7)))
        await store.perform(store.add([new(lane="real")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "real"

    async def test_a_listener_that_lost_its_connection_comes_back_and_looks(
        self,
        heard: Heard,
        store: PostgresStore,
        postgres_url: str,
    ) -> None:
        queue, _, _ = heard
        end_others(postgres_url)
        assert await asyncio.wait_for(queue.get(), 10) == ()
        await store.perform(store.add([new(lane="after")], "return"))
        assert (await asyncio.wait_for(queue.get(), 5))[0].lane == "after"

    async def test_the_sweeps_ping_keeps_a_listener_alive(
        self,
        heard: Heard,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        _, here, ear = heard
        monkeypatch.setattr(listener, "PATIENCE", 0.2)
        await here.perform(here.sweep(Presence("w", "a", "h", 1, [], [], 1), 0, 1))
        await until(lambda: ear._heard == 1)
        assert ear.alive

    async def test_a_deaf_listener_notices_and_connects_anew(
        self,
        heard: Heard,
        postgres_url: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        queue, here, ear = heard
        monkeypatch.setattr(listener, "PATIENCE", 0.2)
        ear.expect(1)  # a ping that never comes, as behind a pooler
        assert await asyncio.wait_for(queue.get(), 10) == ()
        assert not ear.alive, "connected again, but nothing proves yet that it hears"
        await here.perform(here.sweep(Presence("w", "a", "h", 1, [], [], 1), 0, 1))
        await until(lambda: ear.alive)

    async def test_after_a_long_outage_it_soon_listens_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Long pauses are for those who are deaf, not for a server that may be back."""
        monkeypatch.setattr(listener, "FIRST_PAUSE", 0.001)
        monkeypatch.setattr(listener, "LONGEST_OUTAGE_PAUSE", 0.002)
        attempts: list[None] = []

        async def unreachable() -> AsyncConnection:
            attempts.append(None)
            raise OSError("nobody at home")

        ear = PostgresListener(unreachable, "channel", "me", lambda _: None)
        task = asyncio.create_task(ear.run())
        await until(lambda: len(attempts) > 30)
        task.cancel()

    async def test_without_listen_it_never_claims_to_hear(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, listen=False)
        async with store.listen(lambda _: None) as ear:
            await store.perform(store.find(Filter()))
            assert not ear.alive
        await store.aclose()

    def test_a_message_is_never_too_long(self) -> None:
        wakes = [Wake("é" * 50, i, 0) for i in range(1000)]
        assert len(wake_message("me", wakes).encode()) < 8000


class TestTelling:
    """What a server loses with a crash need not be on its disk; what a caller commits must."""

    SHOW = "SHOW synchronous_commit"

    async def test_a_callers_commit_waits_for_the_disk_as_before(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        with another(postgres_url) as caller, caller.transaction():
            await store.perform(store.find(Filter()))  # makes the tables
            store.join(caller).perform_blocking(store.add([new()], "return"))
            assert caller.execute(self.SHOW).fetchone() == ("on",)

    def test_a_notice_by_itself_waits_for_nothing(self, postgres_url: str) -> None:
        told = {"channel": "c", "message": "m", "alone": True}
        text, params = Loader("postgres", Names()).bound(Statement("notify", told), None)
        with another(postgres_url) as connection:
            with connection.transaction():
                connection.execute(text.encode(), params)
                assert connection.execute(self.SHOW).fetchone() == ("off",)
            assert connection.execute(self.SHOW).fetchone() == ("on",)
