"""Actions that are sent again after a lost reply are stored once, even if they finish meanwhile."""

import asyncio
from collections.abc import Sequence

import pytest

from duetime.model.actions.action import Added, NewAction
from duetime.model.actions.new_actions import NewActions
from duetime.model.state import State
from duetime.store.flow import Flow
from duetime.store.sql.flows.add import INSERT_BATCH_SIZE, PIPELINE_MIN_ROWS
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements import bulk_rows
from duetime.store.sql.statements.bulk_rows import (
    BulkRows,
    new_rows,
)
from polling import until
from store.postgres_helpers import another, end_others, fresh, new, waiting

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


def replay_of(store: PostgresStore, sent: Sequence[NewAction]) -> Flow[Sequence[Added]]:
    """Return the flow that the store performs after a lost reply."""
    first = store.add(sent, "return")
    return first.replay or first


def unfinished(connection: Connection) -> int:
    row = connection.execute("SELECT count(*) FROM duetime_actions").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("fields", [{}, {"key": "k"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("count", [1, 3])
async def test_an_action_that_finishes_meanwhile_is_not_stored_anew(
    store: PostgresStore, postgres_url: str, count: int, fields: dict[str, str]
) -> None:
    sent = [new(**fields), *(new() for _ in range(1, count))]
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        with worker.transaction():
            worker.execute(FINISH, (sent[0].id,))
            resending = asyncio.create_task(store.perform(replay_of(store, sent)))
            await until(lambda: waiting(postgres_url))
        added = await resending
        assert unfinished(worker) == count - 1
    assert [action.record.id for action in added] == [action.id for action in sent]
    states = [State.succeeded, *[State.scheduled] * (count - 1)]
    assert [action.record.state for action in added] == states


@pytest.mark.parametrize("fields", [{}, {"key": "k"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("count", [1, 3])
async def test_an_action_that_finished_before_is_not_stored_anew(
    store: PostgresStore, postgres_url: str, count: int, fields: dict[str, str]
) -> None:
    sent = [new(**fields), *(new() for _ in range(1, count))]
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        worker.execute(FINISH, (sent[0].id,))
        for flow in (store.add(sent, "return"), replay_of(store, sent)):
            added = await store.perform(flow)
            assert added[0].record.state is State.succeeded
        assert unfinished(worker) == count - 1


@pytest.mark.parametrize(
    "count", [PIPELINE_MIN_ROWS - 1, PIPELINE_MIN_ROWS, 2 * INSERT_BATCH_SIZE + 1]
)
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("finished", [False, True])
async def test_batches_of_which_some_are_stored_already_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool, finished: bool, count: int
) -> None:
    """As if a proxy had sent a few of the actions before."""
    sent = [new() for _ in range(count)]
    stored_before = sent[count // 2 : count // 2 + 3]
    await store.perform(store.add(stored_before, "return"))
    with another(postgres_url) as worker:
        for action in stored_before if finished else []:
            worker.execute(FINISH, (action.id,))
        flow = store.add(sent, "return")
        added = store.perform_blocking(flow) if blocking else await store.perform(flow)
        assert unfinished(worker) == len(sent) - (3 if finished else 0)
    assert [action.record.id for action in added] == [action.id for action in sent]


@pytest.mark.parametrize("count", [PIPELINE_MIN_ROWS, 2 * INSERT_BATCH_SIZE + 1])
@pytest.mark.parametrize("blocking", [False, True])
async def test_fresh_actions_that_are_stored_already_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool, count: int
) -> None:
    """Checking each id would take long: the server refuses the insert, and then each is checked."""
    sent = fresh(count)
    await store.perform(store.add(sent[count - 3 : count], "return"))
    flow = store.add(sent, "return")
    added = store.perform_blocking(flow) if blocking else await store.perform(flow)
    with another(postgres_url) as worker:
        assert unfinished(worker) == count
    assert [action.record.id for action in added] == [action.id for action in sent]


async def test_replay_is_recognised_under_another_prefix(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, prefix="shop_", listen=False)
    sent = fresh(3)
    await store.perform(store.add(sent[:1], "return"))
    added = await store.perform(store.add(sent, "return"))
    assert [action.record.id for action in added] == [action.id for action in sent]
    await store.aclose()


async def test_fresh_actions_that_finish_before_the_replay_stay_finished(
    store: PostgresStore, postgres_url: str
) -> None:
    sent = fresh(PIPELINE_MIN_ROWS)
    await store.perform(store.add(sent, "return"))
    with another(postgres_url) as worker:
        worker.execute(FINISH, (sent[7].id,))
        added = await store.perform(replay_of(store, sent))
        assert unfinished(worker) == PIPELINE_MIN_ROWS - 1
    assert [action.record.id for action in added] == [action.id for action in sent]
    assert added[7].record.state is State.succeeded


@pytest.mark.parametrize("sort", ["fresh", "others"])
@pytest.mark.parametrize("blocking", [False, True])
async def test_batches_whose_session_dies_between_them_are_stored_once(
    store: PostgresStore,
    postgres_url: str,
    blocking: bool,
    sort: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 2 * INSERT_BATCH_SIZE + 1
    sent = fresh(count) if sort == "fresh" else [new() for _ in range(count)]
    batch_sizes: list[int] = []

    def dying(batch: NewActions) -> BulkRows:
        batch_sizes.append(len(batch))
        if batch_sizes == [INSERT_BATCH_SIZE, INSERT_BATCH_SIZE]:
            end_others(postgres_url)
        return new_rows(batch)

    monkeypatch.setattr(bulk_rows, "new_rows", dying)
    flow = store.add(sent, "return")
    added = store.perform_blocking(flow) if blocking else await store.perform(flow)
    assert batch_sizes[-1] == len(sent)
    with another(postgres_url) as worker:
        assert unfinished(worker) == len(sent)
    assert [action.record.id for action in added] == [action.id for action in sent]
