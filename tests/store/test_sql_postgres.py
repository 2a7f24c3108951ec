"""Properties of the PostgreSQL store alone: locks, HOT updates, statements, loops, forks."""

import asyncio
import os
import threading
import time
from uuid import UUID

import pytest

from duetime.errors import StoreUnavailable
from duetime.model.act import Act
from duetime.model.actions.claim import ClaimOrder, Fence, LaneSpan, WorkerInfo
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Rows, Statement, Steps
from duetime.store.sql.flows.claims import LANE_FRONT_SIZE
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from polling import until
from store.postgres_helpers import (
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
    """A caller's open transaction delays action the calls that need the same row."""

    async def test_a_claim_skips_a_locked_row(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        first, *others = await add(store, 5)
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, first)
            claims = await asyncio.wait_for(claim(store), 2)
            assert {claimed.id for claimed in claims} == {*others}
        assert [claimed.id for claimed in await claim(store)] == [first]

    async def test_a_renewal_passes_over_a_locked_row_and_reports_it_neither_renewed_nor_lost(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        await add(store, 2)
        first, second = await claim(store)
        fences = [Fence(first.id, first.token), Fence(second.id, second.token)]
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, first.id)
            renewed = await asyncio.wait_for(store.perform(store.renew(fences, 60_000_000)), 2)
            assert [*renewed.renewed] == [second.id]
            assert renewed.lost == frozenset()

    async def test_a_cancel_waits_for_the_lock_and_then_names_the_cause(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [action] = await add(store)
        store = PostgresStore(postgres_url, timeout=2)
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, action)
            with pytest.raises(StoreUnavailable, match="another transaction held the row"):
                await store.perform(store.cancel(action, ANY, Act("me"), running=False))
        record = await store.perform(store.cancel(action, ANY, Act("me"), running=False))
        await store.aclose()
        assert record.state is State.cancelled

    async def test_eight_claimers_take_each_row_once(self, store: PostgresStore) -> None:
        await add(store, 400)
        taken = await asyncio.gather(*(claim(store, 50) for _ in range(8)))
        claimed = [action.id for claims in taken for action in claims]
        assert len(claimed) == len({*claimed}) == 400

    async def test_deadlocks_are_retried(self, store: PostgresStore, postgres_url: str) -> None:
        left, right = await add(store, 2)
        store = PostgresStore(postgres_url, timeout=20)
        with another(postgres_url) as caller:
            caller.execute("SET deadlock_timeout = '10s'")  # so that our transaction is the victim
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
        with another(postgres_url) as observer:
            await until(lambda: updates(observer)[0] >= 500)
            updated, hot = updates(observer)
        # Even here, where the rows are so short that a claim lengthens them by a third.
        assert updated == 500
        assert hot >= 475


class TestStatements:
    """Each periodic call of an idle worker is a single statement."""

    async def test_a_sweep_is_one_statement_and_so_is_a_prune(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await add(store, 3)
        sent: list[object] = []
        message = store._message

        def recorded(step: Statement) -> object:
            sent.append(step)
            return message(step)

        monkeypatch.setattr(store, "_message", recorded)
        worker = WorkerInfo("w", "app", "host", 1, ["mail"], ["q"], 1)
        await store.perform(store.sweep(worker, 0, 10))
        assert len(sent) == 1
        await store.perform(store.prune(keep=1, keep_failed=1, limit=10))
        assert len(sent) == 2
        await store.perform(store.add(fresh(1, delay=3_600_000_000), "return"))
        assert len(sent) == 3

    async def test_an_expired_lease_behind_due_rows_is_found(self, store: PostgresStore) -> None:
        worker = WorkerInfo("w", "app", "host", 1, ["mail"], ["q"], 1)
        [action] = await add(store)
        order = ClaimOrder(WORKER, [LaneSpan(LANE, 0, 0)], 1, lease=-1)
        await store.perform(store.claim(order))
        await store.perform(
            store.add([new(due_at=5) for _ in range(LANE_FRONT_SIZE + 1)], "return")
        )
        swept = await store.perform(store.sweep(worker, 0, 10))
        assert [expired.id for expired in swept.expired] == [action]
        # A full scan is expensive, so it is not repeated at once.
        swept = await store.perform(store.sweep(worker, 0, 10))
        assert swept.expired == []

    async def test_without_a_fixed_clock_the_servers_is_used(self, store: PostgresStore) -> None:
        before = time.time_ns() // 1000 - 1_000_000
        [added] = await store.perform(store.add([new(delay=7)], "return"))
        assert added.record.due_at == added.record.created_at + 7
        assert before < added.record.created_at < before + 60_000_000


class TestLoopsAndForks:
    def test_several_event_loops(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        counts: list[int] = []

        async def add_and_count() -> None:
            await add(store, 3)
            counts.append(await find(store))

        def thread() -> None:
            asyncio.run(add_and_count())

        asyncio.run(add_and_count())
        threads = [threading.Thread(target=thread) for _ in range(3)]
        for running in threads:
            running.start()
        for running in threads:
            running.join()
        asyncio.run(add_and_count())
        store.close()
        assert sorted(counts)[-1] == 15

    def test_a_forked_child_opens_its_own_connections(self, postgres_url: str) -> None:
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
        # The parent's connection still works: the child has not closed it.
        assert len(store.perform_blocking(store.find(Filter()))) == 2
        store.close()

    async def test_more_callers_than_connections(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=2)
        await asyncio.gather(*(add(store) for _ in range(20)))
        assert await find(store) == 20
        assert sessions(postgres_url) <= 2
        await store.aclose()


def updates(observer: Connection) -> tuple[int, int]:
    row = observer.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'duetime_actions'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def lock_both(left: UUID, right: UUID) -> Flow[int]:
    def steps() -> Steps[int]:
        locked: list[Rows] = []
        for action_id in (left, right):
            locked.append((yield Statement("lock", {"id": str(action_id)})))
        return sum(map(len, locked))

    return Flow(steps, Mode.write)
