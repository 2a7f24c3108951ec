"""What is sent again after a lost reply is stored once, whoever finishes it meanwhile."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from awaiting import until
from duetime.model.action import Added, NewAction
from duetime.model.state import State
from duetime.store.flow import Flow
from duetime.store.sql.pools import Connection
from duetime.store.sql.postgres import PostgresStore
from store.sql_kit import another, end_others, new, waiting

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


def again(store: PostgresStore, sent: list[NewAction]) -> Flow[Sequence[Added]]:
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


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("finished", [False, True])
async def test_parts_of_which_some_are_there_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool, finished: bool
) -> None:
    """As if a proxy had sent a part of them twice."""
    parts = [[new() for _ in range(3)] for _ in range(4)]
    await store.perform(store.add(parts[2], "return"))
    with another(postgres_url) as worker:
        if finished:
            worker.execute(FINISH, (parts[2][0].id,))
            worker.execute(FINISH, (parts[2][1].id,))
            worker.execute(FINISH, (parts[2][2].id,))
        flow = store.add_parts(parts)
        added = store.perform_blocking(flow) if blocking else await store.perform(flow)
        assert unfinished(worker) == (9 if finished else 12)
    assert [one.record.id for one in added] == [one.id for part in parts for one in part]


@pytest.mark.parametrize("blocking", [False, True])
async def test_parts_whose_answer_is_lost_are_stored_once(
    store: PostgresStore, postgres_url: str, blocking: bool
) -> None:
    """The session dies while they are made: each is sent again, under the same id."""
    made = [[new() for _ in range(3)] for _ in range(4)]
    told: list[int] = []

    def parts() -> Iterator[Sequence[NewAction]]:
        for place, part in enumerate(made):
            told.append(place)
            if told == [0, 1, 2]:
                end_others(postgres_url)
            yield part

    flow = store.add_parts(Again(parts))
    added = store.perform_blocking(flow) if blocking else await store.perform(flow)
    assert told == [0, 1, 2, 0, 1, 2, 3] or told == [0, 1, 2, 3, 0, 1, 2, 3]
    with another(postgres_url) as worker:
        assert unfinished(worker) == 12
    assert [one.record.id for one in added] == [one.id for part in made for one in part]


class Again(Iterable[Sequence[NewAction]]):
    def __init__(self, parts: Callable[[], Iterator[Sequence[NewAction]]]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[Sequence[NewAction]]:
        return self._parts()
