"""Behaviour of the SQLite store alone: its writer, other processes, locks, forks."""

import asyncio
import multiprocessing
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from duetime.errors import ConfigError, DuetimeError, InvalidArgument, StoreUnavailable
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.filter import Filter
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Statement, Steps, Wake
from duetime.store.sql.sqlite.open_file import WatchedConnection
from duetime.store.sql.sqlite.store import SqliteStore
from store.postgres_helpers import LANE, new


@pytest_asyncio.fixture
async def store(sqlite_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(sqlite_path, timeout=0.5)
    yield store
    await store.aclose()


def count(store: SqliteStore) -> int:
    found = store.perform_blocking(store.find(Filter(limit=10_000)))
    return len(found)


def add_many(path: str, times: int) -> int:
    """Run a process that adds actions one by one."""
    store = SqliteStore(path, timeout=30)
    for _ in range(times):
        store.perform_blocking(store.add([new()], "return"))
    store.close()
    return times


def claim_all(path: str) -> list[str]:
    """Run a process that claims and finishes until nothing is left."""
    store = SqliteStore(path, timeout=30)
    done: list[str] = []
    while True:
        order = ClaimOrder("w", [LaneSpan(LANE, 0, 0)], 7, 60_000_000)
        claims = store.perform_blocking(store.claim(order)).claims
        if not claims:
            store.close()
            return done
        finishes = [
            Finish(id=c.id, token=c.token, state=State.succeeded, outcome=Outcome.succeeded)
            for c in claims
        ]
        applied = store.perform_blocking(store.complete(finishes)).applied
        done += [str(action_id) for action_id in applied]


class TestProcesses:
    def test_several_write_to_one_file(self, sqlite_path: Path) -> None:
        with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as workers:
            list(workers.map(add_many, [str(sqlite_path)] * 3, [40] * 3))
            done = list(workers.map(claim_all, [str(sqlite_path)] * 3))
        finished = [action_id for finished_ids in done for action_id in finished_ids]
        assert len(finished) == len({*finished}) == 120

    async def test_a_commit_of_another_process_is_noticed(
        self, store: SqliteStore, sqlite_path: Path
    ) -> None:
        await store.perform(store.find(Filter()))
        woken: asyncio.Queue[Sequence[Wake]] = asyncio.Queue()
        async with store.listen(woken.put_nowait) as listener:
            assert listener.alive
            # A connection that the store does not know stands for another process.
            with closing(sqlite3.connect(sqlite_path)) as other:
                other.execute("CREATE TABLE theirs (x)")
                other.commit()
            assert await asyncio.wait_for(woken.get(), 5) == ()

    async def test_a_commit_is_noticed_through_a_link(
        self, store: SqliteStore, sqlite_path: Path, tmp_path: Path
    ) -> None:
        await store.perform(store.find(Filter()))
        link = tmp_path / "link" / "other.db"
        link.parent.mkdir()
        link.symlink_to(sqlite_path)
        linked = SqliteStore(link)
        await linked.perform(linked.find(Filter()))
        woken: asyncio.Queue[Sequence[Wake]] = asyncio.Queue()
        async with linked.listen(woken.put_nowait):
            await store.perform(store.add([new()], "return"))
            assert await asyncio.wait_for(woken.get(), 5) == ()
        await linked.aclose()

    async def test_our_own_commits_wake_with_their_lanes(self, store: SqliteStore) -> None:
        woken: asyncio.Queue[Sequence[Wake]] = asyncio.Queue()
        async with store.listen(woken.put_nowait):
            await store.perform(store.add([new()], "return"))
            wakes: Sequence[Wake] = ()
            while not wakes:
                wakes = await asyncio.wait_for(woken.get(), 5)
        assert wakes[0].lane == LANE

    def test_a_forked_child_works_and_so_does_its_parent(self, sqlite_path: Path) -> None:
        store = SqliteStore(sqlite_path)
        store.perform_blocking(store.add([new()], "return"))
        child = os.fork()
        if not child:
            status = 1
            try:
                add_one = store.add([new()], "return")
                store.perform_blocking(add_one)
                store.close()
                status = 0
            finally:
                os._exit(status)
        store.perform_blocking(store.add([new()], "return"))
        assert os.waitpid(child, 0)[1] == 0
        assert count(store) == 3
        store.close()

    def test_nothing_is_open_while_a_process_forks(self, sqlite_path: Path) -> None:
        """SQLite forbids carrying an open connection across a fork."""
        store = SqliteStore(sqlite_path)
        store.perform_blocking(store.add([new()], "return"))
        assert _open_files(sqlite_path)
        child = os.fork()
        if not child:
            os._exit(len(_open_files(sqlite_path)))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert count(store) == 1
        store.close()


class TestGroups:
    """Waiting flows are committed together, and fail separately."""

    async def test_a_flow_that_fails_does_not_fail_the_others(self, store: SqliteStore) -> None:
        flows: list[Flow[Any]] = [store.add([new(key="k")], "raise") for _ in range(20)]
        results = await asyncio.gather(*map(store.perform, flows), return_exceptions=True)
        assert sum(isinstance(result, Sequence) for result in results) == 1
        assert sum(isinstance(result, DuetimeError) for result in results) == 19
        await asyncio.gather(*(store.perform(store.add([new()], "return")) for _ in range(20)))
        assert await asyncio.to_thread(count, store) == 21

    async def test_many_adds_share_a_commit(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.perform(store.find(Filter()))
        commits = 0
        perform = store._writer._perform

        def counted(file: WatchedConnection, group: Sequence[Any]) -> None:
            nonlocal commits
            commits += 1
            perform(file, group)

        monkeypatch.setattr(store._writer, "_perform", counted)
        await asyncio.gather(*(store.perform(store.add([new()], "return")) for _ in range(200)))
        assert commits < 50

    async def test_a_bug_in_a_flow_is_raised_in_its_caller(self, store: SqliteStore) -> None:
        def steps() -> Steps[None]:
            yield Statement("clock", {})
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await store.perform(Flow(steps))
        assert not [*(await store.perform(store.find(Filter())))]

    async def test_a_single_flow_that_fails_leaves_nothing(self, store: SqliteStore) -> None:
        def steps() -> Steps[None]:
            yield from store.add([new()], "return").start()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await store.perform(Flow(steps))
        assert not [*(await store.perform(store.find(Filter())))]
        assert (await store.perform(store.add([new()], "return")))[0].created

    async def test_a_read_does_not_wait_for_a_writer(
        self, store: SqliteStore, sqlite_path: Path
    ) -> None:
        [added] = await store.perform(store.add([new()], "return"))
        with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as caller:
            caller.execute("BEGIN IMMEDIATE")
            found = await asyncio.wait_for(store.perform(store.get(added.record.id, ANY)), 5)
        assert found == added.record

    async def test_a_cancelled_caller_does_not_stop_the_writer(self, store: SqliteStore) -> None:
        waiting = asyncio.create_task(store.perform(store.add([new()], "return")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await store.perform(store.add([new()], "return")))[0].created


class TestThreadsAndLoops:
    def test_several_event_loops(self, sqlite_path: Path) -> None:
        store = SqliteStore(sqlite_path)

        async def life() -> None:
            await asyncio.gather(*(store.perform(store.add([new()], "return")) for _ in range(5)))

        def thread() -> None:
            asyncio.run(life())

        asyncio.run(life())
        threads = [threading.Thread(target=thread) for _ in range(4)]
        for started in threads:
            started.start()
        for started in threads:
            started.join()
        assert count(store) == 25
        store.close()

    def test_construction_opens_nothing(self, sqlite_path: Path) -> None:
        before = set(threading.enumerate())
        SqliteStore(sqlite_path)
        assert not sqlite_path.exists()
        assert set(threading.enumerate()) <= before

    def test_closing_ends_the_thread_and_performing_starts_one(self, sqlite_path: Path) -> None:
        store = SqliteStore(sqlite_path)
        before = set(threading.enumerate())
        assert count(store) == 0
        assert len(set(threading.enumerate()) - before) == 1
        store.close()
        assert set(threading.enumerate()) <= before
        assert _open_files(sqlite_path) == []
        assert count(store) == 0
        store.close()
        store.close()

    def test_the_thread_keeps_no_process_alive(self, sqlite_path: Path) -> None:
        store = SqliteStore(sqlite_path)
        assert count(store) == 0
        writers = [t for t in threading.enumerate() if t.name == "duetime-sqlite"]
        assert [writer.daemon for writer in writers] == [True]
        store.close()


class TestErrors:
    async def test_a_callers_own_transaction_is_named_as_the_likely_cause(
        self, store: SqliteStore, sqlite_path: Path
    ) -> None:
        await store.perform(store.find(Filter()))
        with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as caller:
            caller.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="transaction of your own"):
                await store.perform(store.add([new()], "return"))
        assert (await store.perform(store.add([new()], "return")))[0].created

    def test_a_directory_that_is_not_there(self, tmp_path: Path) -> None:
        path = tmp_path / "no" / "x.db"
        store = SqliteStore(path)
        with pytest.raises(ConfigError, match="there is no directory") as caught:
            count(store)
        assert str(path) in str(caught.value)
        path.parent.mkdir()
        assert count(store) == 0
        store.close()

    def test_a_file_that_is_no_database(self, sqlite_path: Path) -> None:
        sqlite_path.write_text("a diary, and a long one at that" * 100)
        store = SqliteStore(sqlite_path)
        with pytest.raises(ConfigError, match="not a SQLite database"):
            count(store)
        with pytest.raises(ConfigError, match="not a SQLite database"):
            store.pending()
        store.close()

    def test_a_database_that_cannot_be_written(
        self, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        SqliteStore(sqlite_path).migrate_blocking()
        with closing(sqlite3.connect(sqlite_path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        store = SqliteStore(sqlite_path)
        # Not by its mode bits: root, who may run the tests, can write any file.
        monkeypatch.setattr(store, "_open", lambda: _read_only(sqlite_path))
        with pytest.raises(StoreUnavailable, match="writable"):
            store.perform_blocking(store.add([new()], "return"))
        store.close()

    async def test_a_full_disk_is_reported_and_nothing_is_half_done(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.perform(store.find(Filter()))
        await store.aclose()
        monkeypatch.setattr(store, "_open", _small_disk(store))
        big = [store.add([new(payload="x" * 200_000)], "return") for _ in range(5)]
        results = await asyncio.gather(*map(store.perform, big), return_exceptions=True)
        failed = [result for result in results if not isinstance(result, Sequence)]
        assert failed
        for error in failed:
            assert isinstance(error, StoreUnavailable)
            assert "disk is full" in str(error)
        found = await store.perform(store.find(Filter()))
        assert len(found) == 5 - len(failed)

    @pytest.mark.parametrize(
        "bad", [{"correlation_id": "a\x00b"}, {"payload": "\ud800"}, {"kind": None}]
    )
    async def test_data_that_cannot_be_stored(
        self, store: SqliteStore, bad: dict[str, object]
    ) -> None:
        with pytest.raises(InvalidArgument):
            await store.perform(store.add([new(**bad)], "return"))

    async def test_tables_that_vanished(self, store: SqliteStore, sqlite_path: Path) -> None:
        await store.perform(store.find(Filter()))
        with closing(sqlite3.connect(sqlite_path)) as admin:
            admin.execute("DROP TABLE duetime_actions")
            admin.commit()
        with pytest.raises(ConfigError, match="duetime migrate"):
            await store.perform(store.find(Filter()))


def _open_files(path: Path) -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )


def _small_disk(store: SqliteStore) -> Callable[[], sqlite3.Connection]:
    """Return an opener for a disk with space for our tables and little else."""
    connect = store._open

    def small() -> sqlite3.Connection:
        connection = connect()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 60}")
        return connection

    return small
