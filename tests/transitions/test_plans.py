"""How due rows are found: by the partial index, whatever the table holds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from duetime import Duetime
from duetime.testing import FakeClock
from transitions.engines import ModelDatabase
from transitions.models import Order, Post, Ticket

PAST = datetime(2020, 1, 1, tzinfo=UTC)


class Statements:
    """Those of a sweep, as they were sent."""

    def __init__(self, database: ModelDatabase) -> None:
        self.sent: list[tuple[str, Any]] = []
        event.listen(database.engine, "before_cursor_execute", self._note)

    def _note(self, connection: Any, cursor: Any, sql: str, params: Any, *_: object) -> None:
        self.sent.append((sql, params))

    def naming(self, word: str) -> Iterator[tuple[str, Any]]:
        return ((sql, params) for sql, params in self.sent if word in sql)


def plan(database: ModelDatabase, sql: str, params: Any) -> str:
    explain = "EXPLAIN " if database.on_postgres else "EXPLAIN QUERY PLAN "
    with database.sync_engine.connect() as connection:
        found = connection.exec_driver_sql(explain + sql, params)
        return "\n".join(str(row[-1]) for row in found)


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_rows_are_found_by_the_index(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    """Selects and locks go by the index, also without statistics and with a full ledger."""
    app.transitions.register([Post, Order, Ticket], database.engine)
    with Session(database.sync_engine) as session:
        rows = [{"id": n, "status": "published", "publish_at": PAST} for n in range(3000)]
        session.bulk_insert_mappings(Post.__mapper__, rows)
        session.add(Post(id=9999, publish_at=PAST))
        session.commit()
    if database.on_postgres:
        database.do(
            "INSERT INTO duetime_transitions (table_name, column_name, row_key, value, applied_at, "
            "attempts) SELECT 'posts', 'publish_at', id::text, publish_at, publish_at, 0 FROM "
            "posts WHERE status = 'published'"
        )
    sent = Statements(database)
    assert (await app.transitions.sweep()).updated == 1
    for index in ("posts_publish_at", "order_when", "order_end", "tickets_close_at"):
        column = index.partition("_")[2]
        looks = [*sent.naming(f'"{column}") AS'), *sent.naming(f".{column}) AS")]
        takes = [
            *sent.naming(f'"{column}" AS duetime_due'),
            *sent.naming(f".{column} AS duetime_due"),
        ]
        assert len(looks) == 1
        assert len(takes) == (column == "publish_at")
        for sql, params in (*looks, *takes):
            found = plan(database, sql, params)
            assert f"ix_{index}_due" in found
            assert "Seq Scan" not in found
            assert "SCAN posts" not in found


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_with_nothing_due_nothing_is_written(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Post, database.engine)
    database.add(Post(id=1, publish_at=clock.now() + timedelta(hours=1)))
    await app.transitions.sweep()
    engine: Any = getattr(database.engine, "sync_engine", database.engine)
    verbs: list[str] = []

    def note(connection: Any, cursor: Any, sql: str, *_: object) -> None:
        if "lock_timeout" not in sql:
            verbs.append(sql.partition(" ")[0])

    event.listen(engine, "before_cursor_execute", note)
    await app.transitions.sweep()
    assert set(verbs) == {"SELECT"}
    assert len(verbs) == 4
