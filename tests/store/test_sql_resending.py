"""What is sent again after a lost reply is stored once, whoever finishes it meanwhile."""

import asyncio
from collections.abc import Sequence

import pytest

from awaiting import until
from duetime.model.actions.action import Added, NewAction
from duetime.model.actions.new_actions import NewActions
from duetime.model.state import State
from duetime.store.flow import Flow
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.add import MANY, PART
from duetime.store.sql.flows.records import new_rows
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements.bulk_rows import Table
from store.sql_kit import another, end_others, fresh, new, waiting

FINISH = """
    WITH gone AS (DELETE FROM duetime_actions WHERE id = %s RETURNING *)
    INSERT INTO duetime_history (
        id, due_at, finished_at, created_at, version, attempt, base_attempt, priority, losses,
        kind, state, queue, created_by, payload
    )
    SELECT
        id, due_at, due_at, created_at, version, 1, 0, priority, 0,
        kind, 'succeeded', queue, created_by, payload
    FROM gone
"""


def again(store: PostgresStore, sent: Sequence[NewAction]) -> Flow[Sequence[Added]]:
    """As the store performs it after its reply was lost."""
    first = store.add(sent, "return")
    return first.resent or first


def unfinished(connection: Connection) -> int:
    row = connection.execute("SELECT count(*) FROM duetime_actions").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("given", [{}, {"key": "k"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("count", [1, 3])
async def test_an_action_that_finishes_meanwhile_is_not_stored_anew(
    store: PostgresStore, postgres_url: str, count: int, given: dict[str, str]
) -> None:
    sent = [new(**given), *(new() for _ in range(1, count))]
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        with worker.transaction():
            worker.execute(FINISH, (sent[0].id,))
            resending = asyncio.create_task(store.perform(again(store, sent)))
            await until(lambda: waiting(postgres_url))
        added = await resending
        assert unfinished(worker) == count - 1
    assert [one.record.id for one in added] == [one.id for one in sent]
    states = [State.succeeded, *[State.scheduled] * (count - 1)]
    assert [one.record.state for one in added] == states


@pytest.mark.parametrize("given", [{}, {"key": "k"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("count", [1, 3])
async def test_an_action_that_finished_before_is_not_stored_anew(
    store: PostgresStore, postgres_url: str, count: int, given: dict[str, str]
) -> None:
    sent = [new(**given), *(new() for _ in range(1, count))]
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        worker.execute(FINISH, (sent[0].id,))
        for flow in (store.add(sent, "return"), again(store, sent)):
            added = await store.perform(flow)
            assert added[0].record.state is State.succeeded
        assert unfinished(worker) == count - 1


@pytest.mark.parametrize("count", [MANY - 1, MANY, 2 * PART + 1])
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("finished", [False, True])
async def test_parts_of_which_some_are_there_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool, finished: bool, count: int
) -> None:
    """As if a proxy had sent a few of them before."""
    sent = [new() for _ in range(count)]
    some = sent[count // 2 : count // 2 + 3]
    await store.perform(store.add(some, "return"))
    with another(postgres_url) as worker:
        for one in some if finished else []:
            worker.execute(FINISH, (one.id,))
        flow = store.add(sent, "return")
        added = store.perform_blocking(flow) if blocking else await store.perform(flow)
        assert unfinished(worker) == len(sent) - (3 if finished else 0)
    assert [one.record.id for one in added] == [one.id for one in sent]


@pytest.mark.parametrize("count", [MANY, 2 * PART + 1])
@pytest.mark.parametrize("blocking", [False, True])
async def test_fresh_ones_that_are_there_after_all_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool, count: int
) -> None:
    """To ask for each of them would take long: the server refuses all, and then each is asked."""
    sent = fresh(count)
    await store.perform(store.add(sent[count - 3 : count], "return"))
    flow = store.add(sent, "return")
    added = store.perform_blocking(flow) if blocking else await store.perform(flow)
    with another(postgres_url) as worker:
        assert unfinished(worker) == count
    assert [one.record.id for one in added] == [one.id for one in sent]


async def test_also_under_another_prefix(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, prefix="shop_", listen=False)
    sent = fresh(3)
    await store.perform(store.add(sent[:1], "return"))
    added = await store.perform(store.add(sent, "return"))
    assert [one.record.id for one in added] == [one.id for one in sent]
    await store.aclose()


async def test_fresh_ones_that_finish_before_they_are_sent_again_stay_finished(
    store: PostgresStore, postgres_url: str
) -> None:
    sent = fresh(MANY)
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        worker.execute(FINISH, (sent[7].id,))
        added = await store.perform(again(store, sent))
        assert unfinished(worker) == MANY - 1
    assert [one.record.id for one in added] == [one.id for one in sent]
    assert added[7].record.state is State.succeeded


@pytest.mark.parametrize("sort", ["fresh", "others"])
@pytest.mark.parametrize("blocking", [False, True])
async def test_parts_whose_session_dies_between_them_are_stored_once(
    store: PostgresStore,
    postgres_url: str,
    blocking: bool,
    sort: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 2 * PART + 1
    sent = fresh(count) if sort == "fresh" else [new() for _ in range(count)]
    made: list[int] = []

    def dying(part: NewActions) -> Table:
        made.append(len(part))
        if made == [PART, PART]:
            end_others(postgres_url)
        return new_rows(part)

    monkeypatch.setattr(rows, "new_rows", dying)
    flow = store.add(sent, "return")
    added = store.perform_blocking(flow) if blocking else await store.perform(flow)
    assert made[-1] == len(sent)
    with another(postgres_url) as worker:
        assert unfinished(worker) == len(sent)
    assert [one.record.id for one in added] == [one.id for one in sent]
