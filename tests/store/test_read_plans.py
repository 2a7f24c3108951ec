"""Pages of occurrences and runs read no more rows than they show, whatever lies before them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from duetime.model.jobs.occurrence_filter import MOST_EXAMINED, OccurrenceFilter
from duetime.model.state import Outcome
from duetime.store.flow import Flow, Statement
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore

ROWS = 30_000
LIMIT = 20
ACTION = UUID(int=7)
MIDDLE = (ROWS // 2, UUID(int=0))
FILL_HISTORY = """
    INSERT INTO duetime_history (id, due_at, finished_at, created_at, version, attempt,
                                 base_attempt, priority, losses, kind, state, outcome, queue,
                                 created_by, payload, job)
    SELECT {id}, i, i, i, 1, 1, 0, 1, 0, 'k', 'succeeded', 'succeeded', 'q', 'me', '{{}}',
           CASE WHEN i % 2 = 0 THEN 'shop-a' ELSE 'shop-b' END
    FROM {series}
"""


def pages() -> dict[str, OccurrenceFilter]:
    return {
        "occurrences": OccurrenceFilter(job="shop-a", limit=LIMIT),
        "an older page": OccurrenceFilter(job="shop-a", limit=LIMIT, follows=MIDDLE),
        "those that failed": OccurrenceFilter(job="shop-a", limit=LIMIT, outcome=Outcome.failed),
    }


def finished_statement(flow: Flow[Any]) -> Statement:
    """Return the statement of a flow that reads history; those before it find nothing."""
    steps = flow.start()
    statement: Any = next(steps)
    while statement.name == "occurrences_unfinished":
        statement = steps.send([])
    assert isinstance(statement, Statement)
    return statement


@pytest.mark.parametrize("name", pages())
def test_occurrences_on_postgres(postgres_url: str, name: str) -> None:
    store = PostgresStore(postgres_url)
    store.migrate_blocking()
    series = f"generate_series(1, {ROWS}) AS i"
    with psycopg.connect(postgres_url) as connection:
        connection.execute(FILL_HISTORY.format(id="gen_random_uuid()", series=series).encode())
        connection.execute("ANALYZE duetime_history")
        sql, params = store._loader.bind(finished_statement(store.occurrences(pages()[name])), None)
        explained = "EXPLAIN (ANALYZE, FORMAT JSON) " + sql
        row = psycopg.ClientCursor(connection).execute(explained.encode(), params).fetchone()
    store.close()
    assert row is not None
    nodes = list(nodes_of(row[0][0]["Plan"]))
    assert {node.get("Index Name") for node in nodes} - {None} == {"duetime_history_occurrences"}
    read = max(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in nodes)
    # Of two instants one row more is read: that of the position, and that after the last group.
    assert read <= (MOST_EXAMINED if name == "those that failed" else LIMIT + 2)


def nodes_of(plan: Any) -> Any:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes_of(part)


@pytest.mark.parametrize("name", pages())
def test_occurrences_on_sqlite(sqlite_path: Path, name: str) -> None:
    store = SqliteStore(sqlite_path)
    store.migrate_blocking()
    sql, params = store._loader.bind(finished_statement(store.occurrences(pages()[name])), 0)
    with closing(sqlite3.connect(sqlite_path)) as connection:
        plan = str(connection.execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall())
    store.close()
    assert "USING INDEX duetime_history_occurrences (job=?" in plan
    assert "SCAN duetime_history" not in plan


def test_runs_are_read_by_their_action(sqlite_path: Path) -> None:
    store = SqliteStore(sqlite_path)
    store.migrate_blocking()
    statement = Statement("runs", {"id": str(ACTION), "before": str(ACTION), "limit": LIMIT})
    sql, params = store._loader.bind(statement, 0)
    with closing(sqlite3.connect(sqlite_path)) as connection:
        plan = json.dumps(connection.execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall())
    store.close()
    assert "duetime_runs_action (action_id=?" in plan
    # The index is in the order of `seq`: nothing is sorted.
    assert "TEMP B-TREE" not in plan
