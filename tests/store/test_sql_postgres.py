"""What is particular to the PostgreSQL store: locks, HOT updates, statements, loops, forks."""

import asyncio
import os
import threading
import time
from uuid import UUID

import pytest

from awaiting import until
from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import ClaimOrder, Lease, Presence, Span
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Rows, Statement, Steps
from duetime.store.sql.flows.claims import FRONT
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from store.sql_kit import (
    LANE,
    WORKER,
    add,
    another,
    claim,
    find,
    fresh,
    lock,
    new,
    sessions,
    waiting,
)


class TestLocks:
    """A caller's open transaction delays nobody but those who need that very row."""

    async def test_a_claim_passes_over_a_locked_row(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        first, *others = await add(store, 5)
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, first)
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
            lock(caller, first.id)
            renewed = await asyncio.wait_for(store.perform(store.renew(leases, 60_000_000)), 2)
            assert [*renewed.kept] == [second.id]
            assert renewed.lost == frozenset()

    async def test_a_cancel_waits_and_then_says_what_held_it(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        store = PostgresStore(postgres_url, timeout=2)
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, only)
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
                lock(caller, right)
                both = asyncio.create_task(store.perform(lock_both(left, right)))
                await until(lambda: waiting(postgres_url))
                await asyncio.to_thread(lock, caller, left)
            assert await both == 2
        await store.aclose()


class TestHotUpdates:
    async def test_a_claim_touches_no_index(self, store: PostgresStore, postgres_url: str) -> None:
        await add(store, 500)
        assert len(await claim(store, 500)) == 500
        with another(postgres_url) as look:
            await until(lambda: updates(look)[0] >= 500)
            updated, hot = updates(look)
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
        await store.perform(store.add(fresh(1, delay=3_600_000_000), "return"))
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
        assert sessions(postgres_url) <= 2
        await store.aclose()


def updates(look: Connection) -> tuple[int, int]:
    row = look.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'duetime_actions'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def lock_both(left: UUID, right: UUID) -> Flow[int]:
    def steps() -> Steps[int]:
        found: list[Rows] = []
        for one in (left, right):
            found.append((yield Statement("lock", {"id": str(one)})))
        return sum(map(len, found))

    return Flow(steps, Mode.write)
