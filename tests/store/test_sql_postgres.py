"""What is particular to the PostgreSQL store: locks, lost connections, LISTEN, deadlines."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio

from duetime.errors import ConfigError, InvalidArgument, StoreUnavailable
from duetime.model.action import NewAction
from duetime.model.claim import Claim, ClaimOrder, Lease, Presence, Span
from duetime.model.ending import Finish
from duetime.model.filter import Filter
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Rows, Statement, Steps, Wake
from duetime.store.sql import listener
from duetime.store.sql.listener import PostgresListener
from duetime.store.sql.notices import ping_message, wake_message
from duetime.store.sql.pools import Connection
from duetime.store.sql.postgres import PostgresStore
from duetime.store.sql.worker_flows import FRONT
from servers import OwnServer

Heard = tuple[asyncio.Queue[Sequence[Wake]], PostgresStore, PostgresListener]
LANE = lane_of("q", 1, None)
WORKER = "host-3f2a.example.internal:12345:9c1f"
ids = TimeOrderedIds()


@pytest_asyncio.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_url, timeout=5)
    yield store
    await store.aclose()


@contextmanager
def another(url: str) -> Iterator[Connection]:
    """A connection of somebody else."""
    with closing(psycopg.connect(url, autocommit=True, connect_timeout=5)) as connection:
        yield connection


def new(**changes: object) -> NewAction:
    given = {
        "id": ids(),
        "kind": "mail",
        "version": 1,
        "payload": "{}",
        "queue": "q",
        "priority": 1,
        "tenant": None,
        "correlation_id": None,
        "key": None,
        "lane": LANE,
        "due_at": None,
        "delay": 0,
        "by": "me",
    }
    return NewAction(**{**given, **changes})  # type: ignore[arg-type]


async def add(store: PostgresStore, count: int = 1) -> list[UUID]:
    added = await store.perform(store.add([new() for _ in range(count)], "return"))
    return [one.record.id for one in added]


async def find(store: PostgresStore) -> int:
    found = await store.perform(store.find(Filter()))
    return len(found)


async def claim(store: PostgresStore, limit: int = 100) -> Sequence[Claim]:
    order = ClaimOrder(WORKER, [Span(LANE, 0, 0)], limit, 60_000_000)
    return (await store.perform(store.claim(order))).claims


def finish(one: Claim, **changes: object) -> Finish:
    given = {"state": State.succeeded, "outcome": Outcome.succeeded, **changes}
    return Finish(id=one.id, token=one.token, **given)  # type: ignore[arg-type]


class TestLocks:
    """A caller's open transaction delays nobody but those who need that very row."""

    async def test_a_claim_passes_over_a_locked_row(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        first, *others = await add(store, 5)
        with another(postgres_url) as caller, caller.transaction():
            _lock(caller, first)
            claims = await asyncio.wait_for(claim(store), 2)
            assert {one.id for one in claims} == {*others}
        assert [one.id for one in await claim(store)] == [first]

    async def test_a_renewal_passes_over_it_and_calls_it_neither_kept_nor_lost(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        await add(store, 2)
        first, second = await claim(store)
        leases = [Lease(first.id, first.token), Lease(second.id, second.token)]
        with another(postgres_url) as caller, caller.transaction():
            _lock(caller, first.id)
            renewed = await asyncio.wait_for(store.perform(store.renew(leases, 60_000_000)), 2)
            assert [*renewed.kept] == [second.id]
            assert renewed.lost == frozenset()

    async def test_a_cancel_waits_and_then_says_what_held_it(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        store = PostgresStore(postgres_url, timeout=2)
        with another(postgres_url) as caller, caller.transaction():
            _lock(caller, only)
            with pytest.raises(StoreUnavailable, match="another transaction held the row"):
                await store.perform(store.cancel(only, ANY, "me", running=False))
        record = await store.perform(store.cancel(only, ANY, "me", running=False))
        await store.aclose()
        assert record.state is State.cancelled

    async def test_eight_claimers_take_each_row_once(self, store: PostgresStore) -> None:
        await add(store, 400)
        taken = await asyncio.gather(*(claim(store, 50) for _ in range(8)))
        claimed = [one.id for claims in taken for one in claims]
        assert len(claimed) == len({*claimed}) == 400

    async def test_deadlocks_are_tried_again(self, store: PostgresStore, postgres_url: str) -> None:
        left, right = await add(store, 2)
        store = PostgresStore(postgres_url, timeout=20)
        with another(postgres_url) as caller:
            caller.execute("SET deadlock_timeout = '10s'")  # so that we are the one who loses
            with caller.transaction():
                _lock(caller, right)
                both = asyncio.create_task(store.perform(_lock_both(left, right)))
                await _until(lambda: _waiting(postgres_url))
                await asyncio.to_thread(_lock, caller, left)
            assert await both == 2
        await store.aclose()


class TestHotUpdates:
    async def test_a_claim_touches_no_index(self, store: PostgresStore, postgres_url: str) -> None:
        await add(store, 500)
        assert len(await claim(store, 500)) == 500
        with another(postgres_url) as look:
            await _until(lambda: _updates(look)[0] >= 500)
            updated, hot = _updates(look)
        # Even here, where the rows are so short that a claim makes them longer by a third.
        assert updated == 500
        assert hot >= 475


class TestStatements:
    """An idle worker sweeps and prunes, and sends nothing else."""

    async def test_a_sweep_is_one_statement_and_so_is_a_prune(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await add(store, 3)
        sent: list[object] = []
        message = store._message

        def noted(step: Statement) -> object:
            sent.append(step)
            return message(step)

        monkeypatch.setattr(store, "_message", noted)
        presence = Presence("w", "app", "host", 1, ["mail"], ["q"], 1)
        await store.perform(store.sweep(presence, 0, 10))
        assert len(sent) == 1
        await store.perform(store.prune(keep=1, keep_failed=1, limit=10))
        assert len(sent) == 2
        await store.perform(store.add([new(delay=3_600_000_000)], "return"))
        assert len(sent) == 3

    async def test_a_lease_that_expired_behind_a_crowd_is_found(self, store: PostgresStore) -> None:
        presence = Presence("w", "app", "host", 1, ["mail"], ["q"], 1)
        [only] = await add(store)
        order = ClaimOrder(WORKER, [Span(LANE, 0, 0)], 1, lease=-1)
        await store.perform(store.claim(order))
        await store.perform(store.add([new(due_at=5) for _ in range(FRONT + 1)], "return"))
        swept = await store.perform(store.sweep(presence, 0, 10))
        assert [one.id for one in swept.expired] == [only]
        # To look at everything has its price: it is not paid again at once.
        swept = await store.perform(store.sweep(presence, 0, 10))
        assert swept.expired == []

    async def test_without_a_fixed_clock_the_servers_counts(self, store: PostgresStore) -> None:
        before = time.time_ns() // 1000 - 1_000_000
        [added] = await store.perform(store.add([new(delay=7)], "return"))
        assert added.record.due_at == added.record.created_at + 7
        assert before < added.record.created_at < before + 60_000_000


class TestLostConnections:
    async def test_a_connection_that_died_while_idle_is_replaced(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        _end_others(postgres_url)
        # Of all flows the one that cannot be sent twice: and yet it goes through.
        assert await store.perform(store.prune(keep=0, keep_failed=0, limit=1)) == 0
        store.perform_blocking(store.get(only, ANY))
        _end_others(postgres_url)
        assert store.perform_blocking(store.prune(keep=0, keep_failed=0, limit=1)) == 0

    @pytest.mark.parametrize("blocking", [False, True])
    @pytest.mark.parametrize("mode", [Mode.read, Mode.write, Mode.single])
    async def test_one_that_dies_at_work_is_replaced_if_that_is_safe(
        self, store: PostgresStore, postgres_url: str, mode: Mode, blocking: bool
    ) -> None:
        await add(store)
        flow, tries = _dying(postgres_url, mode)
        doing = asyncio.to_thread(store.perform_blocking, flow) if blocking else store.perform(flow)
        if mode is Mode.single:
            with pytest.raises(StoreUnavailable):
                await doing
            assert len(tries) == 1
        else:
            assert await doing == 2

    async def test_what_may_be_sent_again_is(self, store: PostgresStore, postgres_url: str) -> None:
        await add(store)
        flow, _ = _dying(postgres_url, Mode.single, resend=True)
        assert await store.perform(flow) == 2

    async def test_a_restarted_server_is_found_again(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        store = PostgresStore(server.url, timeout=5)
        [only] = await add(store)
        server.restart("immediate")
        assert (await store.perform(store.get(only, ANY))).id == only
        server.stop()
        with pytest.raises(StoreUnavailable):
            await store.perform(store.get(only, ANY))
        server.start()
        assert (await store.perform(store.get(only, ANY))).id == only
        await store.aclose()

    async def test_a_frozen_server_is_given_up_in_time(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        store = PostgresStore(server.url, timeout=1)
        await add(store)
        await asyncio.to_thread(store.perform_blocking, store.get((await add(store))[0], ANY))
        with _frozen(server):
            for doing in (
                store.perform(store.find(Filter())),
                asyncio.to_thread(store.perform_blocking, store.find(Filter())),
            ):
                before = time.monotonic()
                with pytest.raises(StoreUnavailable, match="did not answer in time"):
                    await doing
                assert time.monotonic() - before < 4
        assert await find(store) == 2
        await store.aclose()

    async def test_a_cancelled_call_leaves_no_transaction_behind(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        with another(postgres_url) as caller, caller.transaction():
            _lock(caller, only)
            waiting = asyncio.create_task(
                store.perform(store.cancel(only, ANY, "me", running=False))
            )
            await _until(lambda: _waiting(postgres_url))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert (await store.perform(store.get(only, ANY))).state is State.scheduled

    async def test_closing_lets_go_and_performing_opens_anew(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        store.perform_blocking(store.get(only, ANY))
        assert _sessions(postgres_url) == 2
        await store.aclose()
        await _until(lambda: _sessions(postgres_url) == 0)
        assert (await store.perform(store.get(only, ANY))).id == only


class TestErrors:
    async def test_nobody_at_home(self) -> None:
        store = PostgresStore("postgresql://me:secret@127.0.0.1:1/shop", timeout=5)
        before = time.monotonic()
        with pytest.raises(
            StoreUnavailable, match=r"database shop at 127.0.0.1:1 cannot"
        ) as caught:
            await store.perform(store.find(Filter()))
        with pytest.raises(StoreUnavailable):
            store.perform_blocking(store.find(Filter()))
        assert time.monotonic() - before < 2
        assert "secret" not in str(caught.value)

    def test_a_url_that_cannot_be_read_is_not_repeated(self) -> None:
        with pytest.raises(ConfigError) as caught:
            PostgresStore("postgresql://me:s%zzecret@host/x")
        assert "zzecret" not in str(caught.value)

    async def test_a_wrong_password_or_name(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url + "_not_there")
        with pytest.raises(StoreUnavailable, match="does not exist"):
            await store.perform(store.find(Filter()))

    async def test_data_that_cannot_be_stored(self, store: PostgresStore) -> None:
        for bad in ("a\x00b", "\ud800"):
            with pytest.raises(InvalidArgument):
                await store.perform(store.add([new(correlation_id=bad)], "return"))
        with pytest.raises(InvalidArgument):
            await store.perform(store.add([new(due_at=2**70)], "return"))

    async def test_an_ending_that_cannot_be_stored(self, store: PostgresStore) -> None:
        await add(store)
        [one] = await claim(store)
        with pytest.raises(InvalidArgument, match="error"):
            await store.perform(store.complete([finish(one, error="a\x00b")]))
        assert await store.perform(store.complete([finish(one)])) == {one.id}

    async def test_a_read_only_server(self, postgres_url: str) -> None:
        PostgresStore(postgres_url).migrate_blocking()
        with another(postgres_url) as admin:
            name = admin.info.dbname
            admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        store = PostgresStore(postgres_url)
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.perform(store.add([new()], "return"))
        # As after a failover: a connection to the old primary is of no use any more.
        await _until(lambda: _sessions(postgres_url) == 0)
        await store.aclose()

    async def test_tables_that_vanished(self, store: PostgresStore, postgres_url: str) -> None:
        await add(store)
        with another(postgres_url) as admin:
            admin.execute("DROP TABLE duetime_actions")
        with pytest.raises(ConfigError, match="duetime migrate"):
            await store.perform(store.add([new()], "return"))


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
        lanes: set[str] = set()
        notices = 0
        while len(lanes) < 300:
            lanes |= {wake.lane for wake in await asyncio.wait_for(queue.get(), 5)}
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
        _end_others(postgres_url)
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
        await _until(lambda: ear._heard == 1)
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
        await _until(lambda: ear.alive)

    async def test_without_listen_it_never_claims_to_hear(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, listen=False)
        async with store.listen(lambda _: None) as ear:
            await store.perform(store.find(Filter()))
            assert not ear.alive
        await store.aclose()

    def test_a_message_is_never_too_long(self) -> None:
        wakes = [Wake("é" * 50, i, 0) for i in range(1000)]
        assert len(wake_message("me", wakes).encode()) < 8000


class TestLoopsAndForks:
    def test_several_event_loops(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        found: list[int] = []

        async def life() -> None:
            await add(store, 3)
            found.append(await find(store))

        def thread() -> None:
            asyncio.run(life())

        asyncio.run(life())
        threads = [threading.Thread(target=thread) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        asyncio.run(life())
        store.close()
        assert sorted(found)[-1] == 15

    def test_a_forked_child_opens_its_own(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        store.perform_blocking(store.add([new()], "return"))
        child = os.fork()
        if not child:
            status = 1
            try:
                store.perform_blocking(store.add([new()], "return"))
                store.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        # The parent's connection still works: the child has not said goodbye on it.
        assert len(store.perform_blocking(store.find(Filter()))) == 2
        store.close()

    async def test_more_callers_than_connections(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=2)
        await asyncio.gather(*(add(store) for _ in range(20)))
        assert await find(store) == 20
        assert _sessions(postgres_url) <= 2
        await store.aclose()


def _updates(look: Connection) -> tuple[int, int]:
    row = look.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'duetime_actions'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _lock(connection: Connection, action: UUID) -> None:
    connection.execute("SELECT 1 FROM duetime_actions WHERE id = %s FOR UPDATE", (action,))


def _lock_both(left: UUID, right: UUID) -> Flow[int]:
    def steps() -> Steps[int]:
        found: list[Rows] = []
        for one in (left, right):
            found.append((yield Statement("lock", {"id": str(one)})))
        return sum(map(len, found))

    return Flow(steps, Mode.write)


def _dying(url: str, mode: Mode, resend: bool = False) -> tuple[Flow[int], list[object]]:
    """A flow whose first try loses its connection after a statement."""
    tries: list[object] = []

    def steps() -> Steps[int]:
        yield Statement("get", {"id": str(uuid4())})
        tries.append(None)
        if len(tries) == 1:
            _end_others(url)
        yield Statement("get", {"id": str(uuid4())})
        return len(tries)

    return Flow(steps, mode, resend), tries


def _end_others(url: str) -> None:
    with another(url) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _count(url: str, condition: str) -> int:
    with another(url) as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            f"AND pid <> pg_backend_pid() AND {condition}".encode()
        ).fetchone()
    assert row is not None
    return int(row[0])


def _sessions(url: str) -> int:
    return _count(url, "application_name = 'duetime'")


def _waiting(url: str) -> int:
    return _count(url, "wait_event_type = 'Lock'")


async def _until(condition: Callable[[], object]) -> None:
    """Yield to the loop until it holds; the test's own time limit is the deadline."""
    async with asyncio.timeout(15):
        while not condition():  # noqa: ASYNC110 - it waits for the server
            await asyncio.sleep(0)


@contextmanager
def _frozen(server: OwnServer) -> Iterator[None]:
    """Every process of the server stands still, as on a machine that swaps or lost its disk."""
    family = [server.pid, *_children(server.pid)]
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in family:
            os.kill(pid, signal.SIGCONT)


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children") as listed:
        return [int(pid) for pid in listed.read().split()]
