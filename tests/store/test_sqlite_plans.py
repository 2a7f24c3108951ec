"""Every hot statement uses its index on SQLite, analysed or not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from duetime.store.flow import Statement
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.sql.statements.bulk_rows import completion_params
from store.planned_statements import (
    COUNTING,
    FILL,
    NAMES,
    NOW,
    ROWS,
    finishes,
    first_statement,
    flows,
)

SQLITE = {
    "id": "lower(hex(randomblob(16)))",
    "series": "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
    f"WHERE i < {ROWS}) SELECT i FROM s)",
}


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


@pytest.mark.parametrize("name", NAMES)
def test_a_verb_goes_by_its_index(full_sqlite: Path, name: str) -> None:
    store = SqliteStore(full_sqlite)
    plan_lines = sqlite_plan(store, full_sqlite, first_statement(flows(store)[name][0]))
    # Walking a table by its index, newest first, does not read all of it.
    full_scans = [
        line
        for line in plan_lines
        if line.startswith(("SCAN a", "SCAN h", "SCAN duetime")) and "USING" not in line
    ]
    assert full_scans == [], plan_lines
    assert any("USING" in line for line in plan_lines), plan_lines


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("claim", "duetime_actions USING INTEGER PRIMARY KEY (rowid=?)"),
        ("long_payloads", "duetime_actions USING INTEGER PRIMARY KEY (rowid=?)"),
        ("finish", "duetime_actions USING INDEX sqlite_autoindex_duetime_actions_1 (id=?)"),
        (
            "finish_count",
            "c USING INDEX duetime_actions_after (after>? AND after<?)",
        ),
        ("awaited_parents", "c USING INDEX duetime_actions_after (after=?)"),
    ],
)
def test_later_statements_use_their_index(full_sqlite: Path, name: str, step: str) -> None:
    claim = {"places": "[1]", "tokens": "[]", "worker": "w", "lease": 1}
    statement = Statement(name, {"ids": "[1]", **claim, **completion_params(finishes(500))})
    plan_lines = sqlite_plan(SqliteStore(full_sqlite), full_sqlite, statement)
    assert f"SEARCH {step}" in plan_lines


def test_finished_actions_are_counted_by_their_index(full_sqlite: Path) -> None:
    sql = SqliteStore(full_sqlite)._loader.sql(Statement("stats_finished", COUNTING))
    with closing(sqlite3.connect(full_sqlite)) as connection:
        params = {"now": NOW, **COUNTING}
        plan = connection.execute("EXPLAIN QUERY PLAN " + sql, params).fetchall()
    plan_lines = [row[3] for row in plan]
    assert "SEARCH h USING INDEX duetime_history_state (state=?)" in plan_lines, plan_lines


def sqlite_plan(store: SqliteStore, path: Path, statement: Statement) -> list[str]:
    sql, params = store._loader.bind(statement, NOW)
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN " + sql, params).fetchall()
    return [row[3] for row in plan]
