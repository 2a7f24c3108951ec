"""Concurrent calls share a transaction, but neither errors nor cancellations."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from duetime import Action, Duetime, State
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.model.act import Act
from duetime.model.actions.action import Added
from duetime.model.tenant import ANY
from duetime.store.flow import Steps, then
from duetime.store.sql.postgres.batcher import MAX_BATCH_WEIGHT
from polling import until
from store.postgres_helpers import another, new, waiting

EXPIRE = """
    CREATE FUNCTION expire() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE query_canceled;
    END $$;
    CREATE TRIGGER expire BEFORE INSERT ON duetime_actions
    FOR EACH ROW EXECUTE FUNCTION expire()
"""

REFUSE = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF new.payload LIKE '%"n":7%' THEN RAISE EXCEPTION 'row refused'; END IF;
        RETURN new;
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON duetime_actions
    FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@dataclass(frozen=True)
class Note:
    n: int


@dataclass(frozen=True)
class Text:
    text: str


def app_of(url: str, **settings: Any) -> Duetime:
    app = Duetime(url, **settings)
    app.payload(Note, kind="note")
    app.payload(Text, kind="text")
    return app


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Duetime], list[object]]:
    """Return a function that records the flows an app's batcher performs from now on."""

    def watch(app: Duetime) -> list[object]:
        store: Any = app.store
        flows: list[object] = []
        perform = store._perform

        async def watched(flow: object) -> object:
            flows.append(flow)
            return await perform(flow)

        batcher = next(iter(store._batchers.values()))
        monkeypatch.setattr(batcher, "_perform", watched)
        return flows

    return watch


async def test_concurrent_calls_share_a_transaction(postgres_url: str) -> None:
    async with app_of(postgres_url) as app:
        await app.find()  # creates the tables
        results = await asyncio.gather(*(app.schedule(Note(n), delay=60) for n in range(40)))
    assert [action.payload for action in results] == [Note(n) for n in range(40)]
    with another(postgres_url) as connection:
        found = connection.execute(
            "SELECT count(*), count(DISTINCT xmin::text) FROM duetime_actions"
        )
        [(stored, transactions)] = found.fetchall()
    assert stored == 40
    assert transactions == 1


async def test_a_row_that_the_server_refuses_fails_its_own_call_only(postgres_url: str) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as connection:
            connection.execute(REFUSE)
        results = await asyncio.gather(
            *(app.schedule(Note(n), delay=60) for n in range(1, 10)), return_exceptions=True
        )
        stored = {action.payload for action in await app.find(limit=100)}
    refused = [n for n, result in enumerate(results, 1) if isinstance(result, BaseException)]
    assert refused == [7]
    assert isinstance(results[6], DuetimeError)
    assert "row refused" in str(results[6])
    assert stored == {Note(n) for n in range(10) if n != 7}


async def test_an_error_that_no_row_caused_is_met_once(
    postgres_url: str, performed: Callable[[Duetime], list[object]]
) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        tries = performed(app)
        with another(postgres_url) as connection:
            connection.execute(EXPIRE)
        results = await asyncio.gather(
            *(app.schedule(Note(n), delay=60) for n in range(1, 40)), return_exceptions=True
        )
    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert len(tries) == 1


async def test_calls_too_large_for_one_batch_are_split(
    postgres_url: str, performed: Callable[[Duetime], list[object]]
) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Text("x"), delay=60)
        tries = performed(app)
        large = "x" * (MAX_BATCH_WEIGHT // 5)
        await asyncio.gather(*(app.schedule(Text(large), delay=60) for _ in range(12)))
    assert len(tries) == 3


async def test_a_call_that_waited_too_long_fails(postgres_url: str) -> None:
    async with app_of(postgres_url, timeout=1) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as holder, holder.transaction():
            holder.execute("LOCK TABLE duetime_actions IN SHARE MODE")
            first = asyncio.create_task(app.schedule(Note(1), delay=60))
            await until(lambda: waiting(postgres_url))
            crowd = [asyncio.create_task(app.schedule(Note(n), delay=60)) for n in range(1_600)]
            results = await asyncio.gather(first, *crowd, return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert any("nothing was sent" in str(result) for result in results)


async def test_a_call_made_while_the_loop_closes_is_answered(postgres_url: str) -> None:
    """A closing loop cancels the sending task, and clean-up code calls the store after that."""
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as holder, holder.transaction():
            holder.execute("LOCK TABLE duetime_actions IN SHARE MODE")

            async def call_at_the_end() -> Action:
                try:
                    await app.schedule(Note(1), delay=60)
                finally:
                    last = await app.schedule(Note(2), delay=60)
                return last

            before = asyncio.all_tasks()
            caller = asyncio.create_task(call_at_the_end())
            await until(lambda: waiting(postgres_url))
            for task in asyncio.all_tasks() - before:
                task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(caller, 10)
        assert {action.payload for action in await app.find(limit=100)} >= {Note(0), Note(2)}


def test_a_closed_loop_is_not_kept_alive(postgres_url: str) -> None:
    app = app_of(postgres_url)
    loops = []

    async def ask() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await app.schedule(Note(0), delay=60)

    for _ in range(4):
        asyncio.run(ask())
    gc.collect()
    assert [loop() for loop in loops] == [None] * 4
    app.sync.close()


async def test_a_flow_that_continues_is_not_batched(postgres_url: str) -> None:
    """The other calls of a batch could not run its continuation."""
    async with app_of(postgres_url) as app:
        first = await app.schedule(Note(0), delay=60)
        store, action = app.store, new()

        def more(added: Sequence[Added]) -> Steps[tuple[UUID, State]]:
            done = yield from store.cancel(first.id, ANY, Act("ann"), running=False).start()
            return added[0].record.id, done.state

        flow = then(store.add([action], "return"), more)
        assert await store.perform(flow) == (action.id, State.cancelled)
        assert (await app.get(first.id)).state is State.cancelled


async def test_a_call_that_is_cancelled_while_queued_is_not_sent(postgres_url: str) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as holder, holder.transaction():
            holder.execute("LOCK TABLE duetime_actions IN SHARE MODE")
            first = asyncio.create_task(app.schedule(Note(1), delay=60))
            await until(lambda: waiting(postgres_url))
            second = asyncio.create_task(app.schedule(Note(2), delay=60))
            third = asyncio.create_task(app.schedule(Note(3), delay=60))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
        await asyncio.gather(first, third)
        stored = {action.payload for action in await app.find(limit=100)}
    assert stored == {Note(0), Note(1), Note(3)}
