"""Every hot statement uses its index, whatever the planner assumes about the tables.

Statistics of a queue table are often wrong: taken while it was empty, used when it is full.
"""

import json
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from duetime.model.actions.claim import ClaimOrder, LaneSpan, WorkerInfo
from duetime.store.flow import Flow, Mode, Statement
from duetime.store.sql.postgres.attempt import settings_by_mode
from duetime.store.sql.postgres.server import with_array_dumpers
from duetime.store.sql.postgres.store import PostgresStore
from servers import Server
from store.planned_statements import COUNTING, FILL, NAMES, ROWS, first_statement, flows

POSTGRES = {"id": "gen_random_uuid()", "series": "generate_series(1, {rows}) AS i"}


@pytest.fixture(
    scope="module",
    params=["never analysed", "many rows", "few rows", "analysed while empty", "after a purge"],
)
def full_postgres(postgres_server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """Tables whose statistics are as the parameter says. In a database of its own: statistics of
    other rows would outlive them."""
    name = postgres_server.create_database()
    url = postgres_server.database_url(name)
    store = PostgresStore(url)
    store.migrate_blocking()
    # Those of searches are the subject of other tests, and would be used here where all look alike.
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(store._loader.sql(Statement("build_audit_at", {})).encode())
    store.close()
    with psycopg.connect(url, autocommit=True) as connection:
        _prepare(connection, request.param)
    yield url
    postgres_server.drop_database(name)


def _prepare(connection: psycopg.Connection[tuple[object, ...]], state: str) -> None:
    for table in ("duetime_actions", "duetime_history"):
        connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)".encode())
    if state == "after a purge":
        # Pages without rows: the planner assumes an empty table from then on.
        _fill(connection, ROWS)
        connection.execute("ANALYZE duetime_actions, duetime_history")
        connection.execute("DELETE FROM duetime_actions")
        connection.execute("VACUUM (TRUNCATE false) duetime_actions")
        connection.execute("TRUNCATE duetime_history")
    if state in ("analysed while empty", "after a purge"):
        connection.execute("ANALYZE duetime_actions, duetime_history")
    # A sequential scan is cheapest for few rows, until they become many.
    _fill(connection, 2_000 if state == "few rows" else ROWS)
    if state in ("many rows", "few rows"):
        connection.execute("ANALYZE duetime_actions, duetime_history")


def _fill(connection: psycopg.Connection[tuple[object, ...]], rows: int) -> None:
    series = POSTGRES["series"].format(rows=rows)
    for table in FILL.values():
        connection.execute(table.format(id=POSTGRES["id"], series=series).encode())


@pytest.mark.parametrize("name", NAMES)
def test_a_verb_goes_by_its_index(full_postgres: str, name: str) -> None:
    store = PostgresStore(full_postgres)
    flow, expected = flows(store)[name]
    plan = explain(full_postgres, store, flow)
    used = {index.removeprefix("duetime_") for index in indexes_in(plan)}
    if flow.mode is Mode.read:
        # Not pinned, since reads take no locks: any index will do where all look alike.
        expected = expected | {"actions_pkey"}
    assert used <= expected, json.dumps(plan, indent=1)
    # Unfinished actions have no index by kind, and finished ones none by key: for a kind assumed to
    # be rare, all are read.
    rare = name == "find an id"
    if flow.mode is not Mode.read or (_rows(full_postgres) == ROWS and not rare):
        assert used
        assert "Seq Scan" not in nodes_in(plan)


def test_what_is_due_next_is_found_in_order(full_postgres: str) -> None:
    """Nothing is collected and sorted: only the first of a million rows is read. Claims are pinned;
    other statements may use any plan where the planner is sure of at most one row."""
    store = PostgresStore(full_postgres)
    ordered: list[Flow[Any]] = [store.claim(ClaimOrder("w", [LaneSpan("1.0.q", 0, 0)], 500, 1))]
    if not _is_taken_for_empty(full_postgres):
        worker = WorkerInfo("w", "a", "h", 1, [], [], 1)
        ordered += [
            store.look_ahead(),
            store.look_ahead_from({"1.0.q": 0}),
            store.sweep(worker, 1, 500),
        ]
    for flow in ordered:
        found = nodes_in(explain(full_postgres, store, flow))
        assert "Index Scan" in found
        assert not {node for node in found if node.startswith("Bitmap")}


def test_finished_actions_are_counted_by_their_index(full_postgres: str) -> None:
    store = PostgresStore(full_postgres)
    with psycopg.connect(full_postgres) as connection:
        plan = _explain(connection, store, Statement("stats_finished", COUNTING))
    assert {index.removeprefix("duetime_") for index in indexes_in(plan)} == {"history_state"}


def test_a_plan_without_pins_would_be_caught(full_postgres: str) -> None:
    """The test above can fail: unpinned and misled, the planner scans the whole table."""
    store = PostgresStore(full_postgres)
    flow, _ = flows(store)["finish"]
    with with_array_dumpers(psycopg.connect(full_postgres)) as connection:
        connection.execute("SET LOCAL enable_indexscan = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        plan = _explain(connection, store, first_statement(flow))
    assert "Seq Scan" in nodes_in(plan)


def explain(url: str, store: PostgresStore, flow: Flow[Any]) -> object:
    pins = settings_by_mode(1).get(flow.mode)
    with with_array_dumpers(psycopg.connect(url, prepare_threshold=None)) as connection:
        if pins is not None:
            connection.execute(pins.text.encode())
        cached = flow.mode in (Mode.hot, Mode.claim)
        return (_explain_cached if cached else _explain)(connection, store, first_statement(flow))


def _explain_cached(
    connection: psycopg.Connection[tuple[object, ...]], store: PostgresStore, statement: Statement
) -> object:
    """Explain the generic plan that a session caches, made before any parameter is known."""
    sql, params = store._loader.for_caller("dollar").bind(statement, None)
    connection.execute(f"PREPARE kept AS {sql}".encode())
    explain_cached = (
        f"EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE kept ({', '.join(['%s'] * len(params))})"
    )
    row = (
        psycopg.ClientCursor(connection).execute(explain_cached.encode(), tuple(params)).fetchone()
    )
    assert row is not None
    return row[0]


def _explain(
    connection: psycopg.Connection[tuple[object, ...]], store: PostgresStore, statement: Statement
) -> object:
    sql, params = store._loader.bind(statement, None)
    sql = "EXPLAIN (FORMAT JSON, COSTS OFF) " + sql
    row = connection.execute(sql.encode(), params).fetchone()
    assert row is not None
    return row[0]


def _rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(due_at) FROM duetime_actions").fetchone()
    assert row is not None
    return int(row[0])


def _is_taken_for_empty(url: str) -> bool:
    """Return whether the table has pages, and the planner assumes that they hold no rows."""
    return _query_flag(url, "relpages > 0 AND reltuples = 0 FROM pg_class WHERE relname = %s")


def _query_flag(url: str, question: LiteralString) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT " + question, ("duetime_actions",)).fetchone()
    assert row is not None
    return bool(row[0])


def indexes_in(plan: object) -> set[str]:
    return {str(found) for found in _values(plan, "Index Name")}


def nodes_in(plan: object) -> set[str]:
    """Return the node types, except those of the tables of workers and queues: they are small, and
    scanned."""
    small = ("duetime_workers", "duetime_queues", "duetime_notifier", "duetime_events")
    return {node for node, table in _nodes(plan) if table not in small}


def _nodes(plan: object) -> Iterator[tuple[str, str | None]]:
    if isinstance(plan, dict):
        if "Node Type" in plan:
            yield plan["Node Type"], plan.get("Relation Name")
        for value in plan.values():
            yield from _nodes(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _nodes(value)


def _values(plan: object, key: str) -> Iterator[object]:
    if isinstance(plan, dict):
        if key in plan:
            yield plan[key]
        for value in plan.values():
            yield from _values(value, key)
    elif isinstance(plan, list):
        for value in plan:
            yield from _values(value, key)
