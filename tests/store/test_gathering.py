"""Calls that are made at the same time share a transaction, and nothing else."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from awaiting import until
from duetime import Action, Duetime, State
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.model.actions.action import Added
from duetime.model.tenant import ANY
from duetime.store.flow import Steps, continued
from duetime.store.sql.postgres.batcher import MOST_WEIGHT
from store.sql_kit import another, new, waiting

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
        IF new.payload LIKE '%"n":7%' THEN RAISE EXCEPTION 'not this one'; END IF;
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
    """A list of what an app's store performs from now on."""

    def watch(app: Duetime) -> list[object]:
        store: Any = app.store
        flows: list[object] = []
        perform = store._perform

        async def watched(flow: object) -> object:
            flows.append(flow)
            return await perform(flow)

        gathering = next(iter(store._gatherings.values()))
        monkeypatch.setattr(gathering, "_perform", watched)
        return flows

    return watch


async def test_calls_at_the_same_time_need_few_transactions(postgres_url: str) -> None:
    async with app_of(postgres_url) as app:
        await app.find()  # the tables are there
        made = await asyncio.gather(*(app.schedule(Note(n), delay=60) for n in range(40)))
    assert [action.payload for action in made] == [Note(n) for n in range(40)]
    with another(postgres_url) as asking:
        found = asking.execute("SELECT count(*), count(DISTINCT xmin::text) FROM duetime_actions")
        [(stored, transactions)] = found.fetchall()
    assert stored == 40
    assert transactions == 1


async def test_what_the_server_refuses_is_refused_to_nobody_else(postgres_url: str) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as asking:
            asking.execute(REFUSE)
        made = await asyncio.gather(
            *(app.schedule(Note(n), delay=60) for n in range(1, 10)), return_exceptions=True
        )
        stored = {action.payload for action in await app.find(limit=100)}
    refused = [n for n, one in enumerate(made, 1) if isinstance(one, BaseException)]
    assert refused == [7]
    assert isinstance(made[6], DuetimeError)
    assert "not this one" in str(made[6])
    assert stored == {Note(n) for n in range(10) if n != 7}


async def test_an_error_that_is_nobodys_fault_is_met_once(
    postgres_url: str, performed: Callable[[Duetime], list[object]]
) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        tries = performed(app)
        with another(postgres_url) as asking:
            asking.execute(EXPIRE)
        made = await asyncio.gather(
            *(app.schedule(Note(n), delay=60) for n in range(1, 40)), return_exceptions=True
        )
    assert all(isinstance(one, StoreUnavailable) for one in made)
    assert len(tries) == 1


async def test_what_is_large_together_is_sent_apart(
    postgres_url: str, performed: Callable[[Duetime], list[object]]
) -> None:
    async with app_of(postgres_url) as app:
        await app.schedule(Text("x"), delay=60)
        tries = performed(app)
        large = "x" * (MOST_WEIGHT // 5)
        await asyncio.gather(*(app.schedule(Text(large), delay=60) for _ in range(12)))
    assert len(tries) == 3


async def test_whoever_waited_too_long_for_a_turn_is_told(postgres_url: str) -> None:
    async with app_of(postgres_url, timeout=1) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as holder, holder.transaction():
            holder.execute("LOCK TABLE duetime_actions IN SHARE MODE")
            first = asyncio.create_task(app.schedule(Note(1), delay=60))
            await until(lambda: waiting(postgres_url))
            crowd = [asyncio.create_task(app.schedule(Note(n), delay=60)) for n in range(1_600)]
            made = await asyncio.gather(first, *crowd, return_exceptions=True)
    assert all(isinstance(one, StoreUnavailable) for one in made)
    assert any("nothing was asked" in str(one) for one in made)


async def test_who_asks_while_the_loop_ends_is_answered(postgres_url: str) -> None:
    """The end of a loop cancels whoever sends, and some ask only then."""
    async with app_of(postgres_url) as app:
        await app.schedule(Note(0), delay=60)
        with another(postgres_url) as holder, holder.transaction():
            holder.execute("LOCK TABLE duetime_actions IN SHARE MODE")

            async def ask_at_the_end() -> Action:
                try:
                    await app.schedule(Note(1), delay=60)
                finally:
                    last = await app.schedule(Note(2), delay=60)
                return last

            before = asyncio.all_tasks()
            asking = asyncio.create_task(ask_at_the_end())
            await until(lambda: waiting(postgres_url))
            for task in asyncio.all_tasks() - before:
                task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 10)
        assert {action.payload for action in await app.find(limit=100)} >= {Note(0), Note(2)}


def test_a_loop_that_is_gone_takes_its_connections_with_it(postgres_url: str) -> None:
    app = app_of(postgres_url)
    loops = []

    async def ask() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await app.schedule(Note(0), delay=60)

    for _ in range(4):
        asyncio.run(ask())
    gc.collect()
    assert [one() for one in loops] == [None] * 4
    app.sync.close()


async def test_a_call_with_more_after_it_shares_with_nobody(postgres_url: str) -> None:
    """Those that it would be sent with know nothing of what comes after it."""
    async with app_of(postgres_url) as app:
        first = await app.schedule(Note(0), delay=60)
        store, one = app.store, new()

        def more(added: Sequence[Added]) -> Steps[tuple[UUID, State]]:
            done = yield from store.cancel(first.id, ANY, "ann", running=False).start()
            return added[0].record.id, done.state

        flow = continued(store.add([one], "return"), more)
        assert await store.perform(flow) == (one.id, State.cancelled)
        assert (await app.get(first.id)).state is State.cancelled


async def test_whoever_is_cancelled_before_its_turn_asked_for_nothing(postgres_url: str) -> None:
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
