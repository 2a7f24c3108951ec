"""Every hot statement goes by its index, whatever the planner believes of the tables.

Statistics of a queue table are often wrong: taken while it was empty, used when it is full.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from duetime.model.action import NewAction
from duetime.model.claim import ClaimOrder, Lease, Presence, Span
from duetime.model.ending import Again, Ending, Finish
from duetime.model.filter import Filter
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Series, Statement, Steps
from duetime.store.sql.attempt import settings
from duetime.store.sql.postgres import PostgresStore
from duetime.store.sql.rows import ending_params
from duetime.store.sql.sqlite import SqliteStore
from duetime.store.sql.worker_flows import presence_params
from servers import Server

ROWS = 50_000
NOW = 2_000_000_000_000_000
ONE = UUID(int=1 << 100)

FILL = {
    "actions": """
        INSERT INTO duetime_actions (id, due_at, created_at, version, priority, kind, lane, queue,
                                     correlation_id, key, created_by, payload)
        SELECT {id}, i, 0, 1, 1, 'kind' || i % 10, '1.' || i % 8 || '.q', 'q', 'c' || i % 5000,
               'k' || i, 'me', '{{}}'
        FROM {series}
    """,
    "children": """
        INSERT INTO duetime_actions (id, created_at, version, priority, kind, queue, after,
                                     after_on, after_delay, created_by, payload)
        SELECT {id}, 0, 1, 1, 'kind' || i % 10, 'q', {id}, 'succeeded', 0, 'me', '{{}}'
        FROM {series}
        WHERE i % 10 = 0
    """,
    "history": """
        INSERT INTO duetime_history (id, due_at, finished_at, created_at, version, attempt,
                                     base_attempt, priority, losses, kind, state, queue,
                                     correlation_id, created_by, payload)
        SELECT {id}, i, i, 0, 1, 1, 0, 1, 0, 'kind' || i % 10,
               CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'succeeded' END, 'q', 'c' || i % 5000,
               'me', '{{}}'
        FROM {series}
    """,
}
POSTGRES = {"id": "gen_random_uuid()", "series": "generate_series(1, {rows}) AS i"}
SQLITE = {
    "id": "lower(hex(randomblob(16)))",
    "series": "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
    f"WHERE i < {ROWS}) SELECT i FROM s)",
}


def finishes(count: int) -> list[Finish]:
    return [
        Finish(id=UUID(int=i), token=ONE, state=State.succeeded, outcome=Outcome.succeeded)
        for i in range(count)
    ]


def agains(count: int) -> list[Ending]:
    return [Again(id=UUID(int=i), token=ONE, outcome=Outcome.retried) for i in range(count)]


def news(count: int) -> list[NewAction]:
    given = ("mail", 1, "{}", "q", 1, None, None, None, "1.0.q", None, 0, "me")
    return [NewAction(UUID(int=i), *given) for i in range(count)]


PARENTS = [UUID(int=i) for i in range(100)]
FINDS: dict[str, tuple[Filter, set[str]]] = {
    "find": (Filter(), {"actions_pkey", "history_pkey"}),
    "find failed": (Filter(state=State.failed), {"history_state", "history_pkey"}),
    "find scheduled": (Filter(state=State.scheduled), {"actions_pkey"}),
    "find a kind": (Filter(kind="kind3"), {"actions_pkey", "history_kind", "history_pkey"}),
    "find a correlation": (
        Filter(correlation_id="c7"),
        {"actions_correlation", "history_correlation"},
    ),
    "find a page": (Filter(before=ONE), {"actions_pkey", "history_pkey"}),
}


def flows(store: PostgresStore | SqliteStore) -> dict[str, tuple[Flow[Any], set[str]]]:
    """Verbs by name, and the indexes that their first statements may use."""
    spans = [Span(f"1.{shard}.q", 0, 0) for shard in range(8)]
    leases = [Lease(UUID(int=i), ONE) for i in range(100)]
    return {
        "claim": (
            store.claim(ClaimOrder("w", spans, 500, 1)),
            {"actions_due", "actions_pkey"},
        ),
        "add": (store.add(news(500), "return"), {"history_pkey"}),
        "add one": (store.add(news(1), "return"), {"history_pkey"}),
        "finish": (store.complete(finishes(500)), {"actions_pkey", "actions_after"}),
        "finish one": (store.complete(finishes(1)), {"actions_pkey", "actions_after"}),
        "again": (store.complete(agains(500)), {"actions_pkey"}),
        "renew": (store.renew(leases, 1), {"actions_pkey"}),
        "get": (store.get(ONE, ANY), {"actions_pkey", "history_pkey"}),
        "cancel": (store.cancel(ONE, ANY, "me", running=False), {"actions_pkey"}),
        "progress": (store.progress(leases[0], "1"), {"actions_pkey"}),
        "look": (store.look(), {"actions_due"}),
        "look on": (store.look_from({span.lane: 0 for span in spans}), {"actions_due"}),
        "settle": (store.settle(PARENTS, 500), {"actions_after", "actions_pkey", "history_pkey"}),
        **{
            name: (one(statement), indexes)
            for name, (statement, indexes) in later_statements().items()
        },
        **{name: (store.find(wanted), indexes) for name, (wanted, indexes) in FINDS.items()},
    }


def later_statements() -> dict[str, tuple[Statement, set[str]]]:
    """What verbs send after their first statement."""
    ids = json.dumps([str(parent) for parent in PARENTS])
    settled = json.dumps([{"settled_id": str(parent)} for parent in PARENTS])
    sweeping = {
        **presence_params(Presence("w", "a", "h", 1, [], [], 1)),
        "ahead": 0,
        "limit": 500,
        "front": 100,
        "beyond": str(ONE),
        "window": 2000,
        "known": True,
        "started_at": 0,
    }
    return {
        "sweep": (
            Statement("sweep", sweeping),
            {"actions_due", "actions_after", "actions_pkey", "jobs_due"},
        ),
        "settle each": (Statement("settle", {"rows": settled}), {"actions_pkey"}),
        "look for parents": (Statement("stored", {"ids": ids}), {"actions_pkey", "history_pkey"}),
        "look for circles": (
            Statement("ancestors", {"after": str(ONE)}),
            # Those that wait are few beside the others.
            {"actions_pkey", "actions_after"},
        ),
    }


def one(statement: Statement) -> Flow[Any]:
    def steps() -> Steps[None]:
        yield statement

    return Flow(steps, Mode.write)


COUNTING = {"limit": 1000, "tenant": "t"}
NAMES = [*flows(SqliteStore("never-opened"))]


def first_statement(flow: Flow[Any]) -> Statement:
    """What the flow sends first, apart from a look at the clock."""
    steps = flow.start()
    step = next(steps)
    if isinstance(step, Statement) and step.name == "clock":
        step = steps.send([(NOW,)])
    if isinstance(step, Series):
        step = next(iter(step.statements))
    assert isinstance(step, Statement)
    return step


@pytest.fixture(scope="module")
def database(postgres_server: Server) -> Iterator[str]:
    name = postgres_server.create_database()
    url = postgres_server.database_url(name)
    store = PostgresStore(url)
    store.migrate_blocking()
    store.close()
    yield url
    postgres_server.drop_database(name)


@pytest.fixture(
    scope="module",
    params=["never analysed", "many rows", "few rows", "analysed while empty", "after a purge"],
)
def full_postgres(database: str, request: pytest.FixtureRequest) -> str:
    """Rows, of which the planner knows what the parameter says."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("TRUNCATE duetime_actions, duetime_history")
        # What was learnt of rows outlives them.
        tables = "('duetime_actions'::regclass, 'duetime_history'::regclass)"
        connection.execute(f"DELETE FROM pg_statistic WHERE starelid IN {tables}".encode())
        for table in ("duetime_actions", "duetime_history"):
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)".encode())
        if request.param == "after a purge":
            # Pages without a row: the planner then takes the table for empty for ever.
            _fill(connection, ROWS)
            connection.execute("DELETE FROM duetime_actions")
            connection.execute("VACUUM (TRUNCATE false) duetime_actions")
            connection.execute("TRUNCATE duetime_history")
        if request.param in ("analysed while empty", "after a purge"):
            connection.execute("ANALYZE duetime_actions, duetime_history")
        # Few are cheapest read all at once, until one day they are many.
        _fill(connection, 2_000 if request.param == "few rows" else ROWS)
        if request.param in ("many rows", "few rows"):
            connection.execute("ANALYZE duetime_actions, duetime_history")
    return database


@pytest.fixture(scope="module", params=["never analysed", "analysed while empty"])
def full_sqlite(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    path = tmp_path_factory.mktemp("plans") / "x.db"
    SqliteStore(path).migrate_blocking()
    with closing(sqlite3.connect(path)) as connection:
        if request.param == "analysed while empty":
            connection.execute("ANALYZE")
        for table in FILL.values():
            connection.execute(table.format(**SQLITE))
        connection.commit()
    return path


class TestPostgres:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_verb_goes_by_its_index(self, full_postgres: str, name: str) -> None:
        store = PostgresStore(full_postgres)
        flow, expected = flows(store)[name]
        plan = explain(full_postgres, store, flow)
        used = {index.removeprefix("duetime_") for index in indexes_in(plan)}
        if flow.mode is Mode.read:
            # Not pinned, since it waits for nobody: any index will do where all look alike.
            expected = expected | {"actions_pkey"}
        assert used <= expected, json.dumps(plan, indent=1)
        # Unfinished actions have no index by kind: all are read for one that is taken for rare.
        rare = name == "find a kind" and not _is_analysed(full_postgres)
        if flow.mode is not Mode.read or (_rows(full_postgres) == ROWS and not rare):
            assert used
            assert "Seq Scan" not in nodes_in(plan)

    def test_what_is_due_next_is_found_in_order(self, full_postgres: str) -> None:
        """Nothing is gathered to be sorted: of a million that wait, one is asked for. Claims are
        pinned; else the planner may do as it likes where it is sure that there is at most one."""
        store = PostgresStore(full_postgres)
        asked: list[Flow[Any]] = [store.claim(ClaimOrder("w", [Span("1.0.q", 0, 0)], 500, 1))]
        if not _is_taken_for_empty(full_postgres):
            presence = Presence("w", "a", "h", 1, [], [], 1)
            asked += [store.look(), store.look_from({"1.0.q": 0}), store.sweep(presence, 1, 500)]
        for flow in asked:
            found = nodes_in(explain(full_postgres, store, flow))
            assert "Index Scan" in found
            assert not {one for one in found if one.startswith("Bitmap")}

    def test_finished_actions_are_counted_by_their_index(self, full_postgres: str) -> None:
        store = PostgresStore(full_postgres)
        with psycopg.connect(full_postgres) as connection:
            plan = _explain(connection, store, Statement("stats_finished", COUNTING))
        assert {index.removeprefix("duetime_") for index in indexes_in(plan)} == {"history_state"}

    def test_a_plan_without_pins_would_be_caught(self, full_postgres: str) -> None:
        """The guard above can fail: unpinned and misled, the planner reads it all."""
        store = PostgresStore(full_postgres)
        flow, _ = flows(store)["finish"]
        with psycopg.connect(full_postgres) as connection:
            connection.execute("SET LOCAL enable_indexscan = off")
            connection.execute("SET LOCAL enable_bitmapscan = off")
            plan = _explain(connection, store, first_statement(flow))
        assert "Seq Scan" in nodes_in(plan)


class TestSqlite:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_verb_goes_by_its_index(self, full_sqlite: Path, name: str) -> None:
        store = SqliteStore(full_sqlite)
        told = sqlite_plan(store, full_sqlite, first_statement(flows(store)[name][0]))
        # To walk a table by its index, newest first, is not to read all of it.
        bad = [
            line
            for line in told
            if line.startswith(("SCAN a", "SCAN h", "SCAN duetime")) and "USING" not in line
        ]
        assert bad == [], told
        assert any("USING" in line for line in told), told

    @pytest.mark.parametrize(
        ("name", "step"),
        [
            ("claim", "duetime_actions USING INTEGER PRIMARY KEY (rowid=?)"),
            ("payloads", "duetime_actions USING INTEGER PRIMARY KEY (rowid=?)"),
            ("finish", "duetime_actions USING INDEX sqlite_autoindex_duetime_actions_1 (id=?)"),
            (
                "finish_told",
                "c USING INDEX duetime_actions_after (after>? AND after<?)",
            ),
            ("waited_for", "c USING INDEX duetime_actions_after (after=?)"),
        ],
    )
    def test_so_does_what_follows(self, full_sqlite: Path, name: str, step: str) -> None:
        statement = Statement(name, {"places": "[1]", "ids": "[1]", **ending_params(finishes(500))})
        told = sqlite_plan(SqliteStore(full_sqlite), full_sqlite, statement)
        assert f"SEARCH {step}" in told

    def test_finished_actions_are_counted_by_their_index(self, full_sqlite: Path) -> None:
        sql = SqliteStore(full_sqlite)._loader.sql(Statement("stats_finished", COUNTING))
        with closing(sqlite3.connect(full_sqlite)) as connection:
            params = {"now": NOW, **COUNTING}
            plan = connection.execute("EXPLAIN QUERY PLAN " + sql, params).fetchall()
        told = [row[3] for row in plan]
        assert "SEARCH h USING INDEX duetime_history_state (state=?)" in told, told


def sqlite_plan(store: SqliteStore, path: Path, statement: Statement) -> list[str]:
    sql, params = store._loader.bound(statement, NOW)
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN " + sql, params).fetchall()
    return [row[3] for row in plan]


def explain(url: str, store: PostgresStore, flow: Flow[Any]) -> object:
    pins = settings(1).get(flow.mode)
    with psycopg.connect(url, prepare_threshold=None) as connection:
        if pins is not None:
            connection.execute(pins.text.encode())
        kept = flow.mode in (Mode.hot, Mode.claim)
        return (_explain_kept if kept else _explain)(connection, store, first_statement(flow))


def _explain_kept(
    connection: psycopg.Connection[tuple[object, ...]], store: PostgresStore, one: Statement
) -> object:
    """The plan that a session keeps, made before any parameter is known."""
    sql, params = store._loader.for_caller("dollar").bound(one, None)
    connection.execute(f"PREPARE kept AS {sql}".encode())
    asked = f"EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE kept ({', '.join(['%s'] * len(params))})"
    row = psycopg.ClientCursor(connection).execute(asked.encode(), tuple(params)).fetchone()
    assert row is not None
    return row[0]


def _explain(
    connection: psycopg.Connection[tuple[object, ...]], store: PostgresStore, one: Statement
) -> object:
    sql, params = store._loader.bound(one, None)
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
    """It has pages, and the planner knows of no row in them."""
    return _told(url, "relpages > 0 AND reltuples = 0 FROM pg_class WHERE relname = %s")


def _is_analysed(url: str) -> bool:
    return _told(url, "count(*) > 0 FROM pg_stats WHERE tablename = %s")


def _told(url: str, question: LiteralString) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT " + question, ("duetime_actions",)).fetchone()
    assert row is not None
    return bool(row[0])


def indexes_in(plan: object) -> set[str]:
    return {str(found) for found in _values(plan, "Index Name")}


def nodes_in(plan: object) -> set[str]:
    """Workers are few, and read all at once."""
    return {node for node, table in _nodes(plan) if table != "duetime_workers"}


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


def _fill(connection: psycopg.Connection[tuple[object, ...]], rows: int) -> None:
    series = POSTGRES["series"].format(rows=rows)
    for table in FILL.values():
        connection.execute(table.format(id=POSTGRES["id"], series=series).encode())
