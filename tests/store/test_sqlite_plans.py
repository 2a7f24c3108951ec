"""Every hot statement goes by its index on SQLite, analysed or not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from duetime.store.flow import Statement
from duetime.store.sql.flows.records import ending_params
from duetime.store.sql.sqlite.store import SqliteStore
from store.planned import COUNTING, FILL, NAMES, NOW, ROWS, finishes, first_statement, flows

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
def test_so_does_what_follows(full_sqlite: Path, name: str, step: str) -> None:
    statement = Statement(name, {"places": "[1]", "ids": "[1]", **ending_params(finishes(500))})
    told = sqlite_plan(SqliteStore(full_sqlite), full_sqlite, statement)
    assert f"SEARCH {step}" in told


def test_finished_actions_are_counted_by_their_index(full_sqlite: Path) -> None:
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
