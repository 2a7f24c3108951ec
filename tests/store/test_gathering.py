"""Calls that are made at the same time share a transaction, and nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest

from awaiting import until
from duetime import Duetime, State
from duetime.errors import DuetimeError
from duetime.model.action import Added
from duetime.model.tenant import ANY
from duetime.store.flow import Steps, continued
from store.sql_kit import another, new, waiting

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


def app_of(url: str) -> Duetime:
    app = Duetime(url)
    app.payload(Note, kind="note")
    return app


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
