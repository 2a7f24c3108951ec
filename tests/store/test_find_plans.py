"""How many rows a page of `find` examines on PostgreSQL, whatever the planner assumes: few where an
index leads to them, never more than MAX_EXAMINED, and never a whole table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from duetime.model.actions.found import MAX_EXAMINED, Found
from duetime.model.filter import Filter, Position, Sort
from duetime.model.groups import Groups
from duetime.model.state import State
from duetime.store.flow import Flow, Statement
from duetime.store.sql.postgres.attempt import settings_by_mode
from duetime.store.sql.postgres.store import PostgresStore
from servers import Server

FINISHED, UNFINISHED = 60_000, 40_000
PAGE = 50
# Each row is examined, and those of the page are read once more.
INDEXED_LIMIT, LIMIT = 10 * PAGE, MAX_EXAMINED + 2 * PAGE

FIELDS = """
    kind, queue, priority, tenant, correlation_id, key, job, created_by, payload, version,
    created_at
"""
ID = "CAST(lpad(to_hex(i), 8, '0') || '-0000-7000-8000-' || substr(md5(i::text), 1, 12) AS uuid)"


def filling(scale: int) -> tuple[str, str]:
    """Return the statements that insert finished and unfinished actions: so many times more of
    them, of which as few are rare."""
    finished, unfinished = FINISHED * scale, UNFINISHED * scale
    values = f"""
        'kind' || i % 10, 'q', 1,
        CASE WHEN i % {10_000 * scale} = 7 THEN 'small' WHEN i % 2 = 0 THEN 'big' END,
        CASE WHEN i % 3 = 0 THEN 'c' || i % {5000 * scale} ELSE 'crowd' END, 'k' || i,
        CASE WHEN i % 9 = 0 THEN 'job-' || i % {900 * scale} END, 'me', '{{}}', 1, i
    """
    return (
        f"""
        INSERT INTO duetime_history (id, {FIELDS}, due_at, finished_at, attempt, base_attempt,
                                     losses, state, error, error_group)
        SELECT {ID}, {values}, i, i / {30_000 * scale} * 30000 + i % 7, 1, 0, 0, s.state,
               CASE WHEN s.state = 'failed' THEN 'E' END,
               CASE WHEN s.state = 'failed' THEN s.name END
        FROM generate_series(1, {finished}) AS i
        CROSS JOIN LATERAL (
            SELECT CASE WHEN i % 100 = 0 THEN 'failed' WHEN i % 10 = 0 THEN 'cancelled'
                        ELSE 'succeeded' END AS state,
                   CASE WHEN i % {6000 * scale} = 0 THEN 'rare' ELSE 'E' END AS name
        ) AS s
        """,
        f"""
        INSERT INTO duetime_actions (id, {FIELDS}, due_at, lane, after)
        SELECT {ID}, {values},
               CASE WHEN i % {4000 * scale} > 0 THEN i / {15_000 * scale} * 15000 + i % 5 END,
               CASE WHEN i % {4000 * scale} = 0 THEN NULL
                    WHEN i % {3000 * scale} = 1 THEN 'p.1.4.kind.1.0.q'
                    ELSE '1.' || i % 8 || '.q' END,
               CASE WHEN i % {4000 * scale} = 0 THEN CAST('{UUID(int=5)}' AS uuid) END
        FROM generate_series({finished + 1}, {finished + unfinished}) AS i
        """,
    )


STATES = ["never analysed", "analysed", "analysed while empty"]
MILLION_ROWS = pytest.param("analysed, of a million rows", marks=pytest.mark.soak)


@pytest.fixture(scope="module", params=[*STATES, MILLION_ROWS])
def full_store(postgres_server: Server, request: pytest.FixtureRequest) -> Iterator[PostgresStore]:
    name = postgres_server.create_database()
    url = postgres_server.database_url(name)
    store = PostgresStore(url)
    store.migrate_blocking()
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("duetime_actions", "duetime_history"):
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)".encode())
        if request.param == "analysed while empty":
            connection.execute("ANALYZE duetime_actions, duetime_history")
        for text in filling(10 if "million" in request.param else 1):
            connection.execute(text.encode())
        assert asyncio.run(store.build_indexes())
        if request.param == "analysed" or "million" in request.param:
            connection.execute("ANALYZE duetime_actions, duetime_history")
    yield store
    store.close()
    postgres_server.drop_database(name)


OLDEST_FIRST = Sort("created_at", descending=False)
BY_DUE, BY_END = Sort("due_at", descending=False), Sort("finished_at", descending=True)
MIDDLE = Position(0, UUID("00009c40-0000-7000-8000-000000000000"))
INDEXED_FILTERS: dict[str, Filter] = {
    "all": Filter(),
    "oldest first": Filter(sort=OLDEST_FIRST),
    "a later page": Filter(follows=MIDDLE),
    "a tenant": Filter(tenant="big"),
    "a later page of a tenant": Filter(tenant="big", follows=MIDDLE),
    "a tenant with few rows": Filter(tenant="small"),
    "few rows by their end": Filter(tenant="small", sort=BY_END),
    "few rows that failed": Filter(tenant="small", states=(State.failed,)),
    "failed": Filter(states=(State.failed,)),
    "failed, oldest first": Filter(states=(State.failed,), sort=OLDEST_FIRST),
    "finished of a kind": Filter(kinds=("kind3",), states=(State.succeeded,)),
    "a key": Filter(key="k77"),
    "a correlation": Filter(correlation_id="c6"),
    "an occurrence": Filter(job="job-9", states=(State.failed,)),
    "a search for a key": Filter(search="k77"),
    "a search for an id": Filter(search="00009c40"),
    "a search for nothing": Filter(search="nothing"),
    "children": Filter(after=UUID(int=5)),
    "children of nothing": Filter(after=UUID(int=6)),
    "waiting": Filter(waiting=True),
    "parked": Filter(parked=True),
    "a group": Filter(error_group="rare"),
    "a group by its end": Filter(error_group="rare", sort=BY_END),
    "due": Filter(sort=BY_DUE, due_before=3),
    "no such tenant": Filter(tenant="nobody"),
}
SPARSE_FILTERS: dict[str, Filter] = {
    "nothing": Filter(kinds=("no",)),
    "nothing of a tenant": Filter(tenant="big", queue="no"),
    "nothing by due time": Filter(queue="no", sort=BY_DUE),
    "nothing by end": Filter(queue="no", sort=BY_END),
    "crowds of one due time": Filter(sort=BY_DUE),
    "crowds of one end": Filter(sort=BY_END),
    "crowds of one end, earliest first": Filter(sort=Sort("finished_at", descending=False)),
    "a crowded correlation": Filter(correlation_id="crowd", kinds=("no",)),
    "running": Filter(states=(State.running,)),
    "overdue": Filter(overdue=True, priority=3),
    "untenanted": Filter(tenant=None, worker="w"),
    "created long ago": Filter(created_before=5),
}


@pytest.mark.parametrize("name", INDEXED_FILTERS)
def test_an_index_leads_to_a_page(full_store: PostgresStore, name: str) -> None:
    _, examined = examine(full_store, full_store.find(INDEXED_FILTERS[name]))
    assert examined <= INDEXED_LIMIT


@pytest.mark.parametrize("name", SPARSE_FILTERS)
def test_no_page_examines_more_than_the_limit(full_store: PostgresStore, name: str) -> None:
    found, examined = examine(full_store, full_store.find(SPARSE_FILTERS[name]))
    assert examined <= LIMIT
    assert found.next is not None


@pytest.mark.parametrize("by", ["error", "kind"])
def test_groups_examine_no_more_of_each_state(full_store: PostgresStore, by: Any) -> None:
    groups, examined = examine(full_store, full_store.groups(by, Filter()))
    assert isinstance(groups, Groups)
    assert examined <= LIMIT * (1 if by == "error" else len(State))


def test_all_pages_together_hold_a_tenant(full_store: PostgresStore) -> None:
    """The figures above are of pages that skip nothing."""
    found: Found = full_store.perform_blocking(full_store.find(Filter(tenant="small", limit=200)))
    assert (len(found), found.next) == (len(range(7, FINISHED + UNFINISHED, 10_000)), None)


def examine(store: PostgresStore, flow: Flow[Any]) -> tuple[Any, int]:
    """Perform a flow, each statement under EXPLAIN ANALYZE, too; return how many rows its scans of
    our tables examined. A statement that reads a whole table fails."""
    settings = settings_by_mode(60)[flow.mode].text
    examined = 0
    steps = flow.start()
    with psycopg.connect(store._url) as connection:
        try:
            step = next(steps)
            while True:
                assert isinstance(step, Statement)
                text, params = store._loader.bind(step, None)
                connection.execute(settings.encode())
                plan = connection.execute(
                    b"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + text.encode(), params
                ).fetchone()
                assert plan is not None
                rows = _examined(plan[0][0]["Plan"])
                assert rows <= LIMIT, plan
                examined += rows
                step = steps.send(connection.execute(text.encode(), params).fetchall())
        except StopIteration as end:
            return end.value, examined


def _examined(plan: dict[str, Any]) -> int:
    """Return how many rows the scans of a plan read: those they passed on, and the others."""
    rows = 0
    table = str(plan.get("Relation Name", ""))
    if table.startswith("duetime_"):
        # There are few queues, so that reading all of them is no harm.
        assert plan["Node Type"] != "Seq Scan" or table == "duetime_queues", plan
        loops = plan["Actual Loops"]
        rows = round((plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * loops)
    return rows + sum(_examined(part) for part in plan.get("Plans", ()))
