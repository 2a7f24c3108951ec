"""How due rows are found: by the partial index, whatever the table holds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from duetime import Duetime
from duetime.testing import FakeClock
from transitions.models import Order, Post, Ticket
from transitions.places import Place

PAST = datetime(2020, 1, 1, tzinfo=UTC)


class Statements:
    """Those of a sweep, as they were sent."""

    def __init__(self, place: Place) -> None:
        self.sent: list[tuple[str, Any]] = []
        event.listen(place.engine, "before_cursor_execute", self._note)

    def _note(self, connection: Any, cursor: Any, sql: str, params: Any, *_: object) -> None:
        self.sent.append((sql, params))

    def naming(self, word: str) -> Iterator[tuple[str, Any]]:
        return ((sql, params) for sql, params in self.sent if word in sql)


def plan(place: Place, sql: str, params: Any) -> str:
    explain = "EXPLAIN " if place.on_postgres else "EXPLAIN QUERY PLAN "
    with place.aside.connect() as connection:
        found = connection.exec_driver_sql(explain + sql, params)
        return "\n".join(str(one[-1]) for one in found)


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])
async def test_rows_are_found_by_the_index(app: Duetime, place: Place, clock: FakeClock) -> None:
    """By looks and by locks, also if statistics tell nothing and the ledger is full."""
    app.transitions.register([Post, Order, Ticket], place.engine)
    with Session(place.aside) as session:
        rows = [{"id": n, "status": "published", "publish_at": PAST} for n in range(3000)]
        session.bulk_insert_mappings(Post.__mapper__, rows)
        session.add(Post(id=9999, publish_at=PAST))
        session.commit()
    if place.on_postgres:
        place.do(
            "INSERT INTO duetime_transitions (table_name, column_name, row_key, value, applied_at, "
            "attempts) SELECT 'posts', 'publish_at', id::text, publish_at, publish_at, 0 FROM "
            "posts WHERE status = 'published'"
        )
    sent = Statements(place)
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
            found = plan(place, sql, params)
            assert f"ix_{index}_due" in found
            assert "Seq Scan" not in found
            assert "SCAN posts" not in found


@pytest.mark.parametrize("kind", ["pysqlite", "psycopg", "asyncpg"])
async def test_with_nothing_due_nothing_is_written(
    app: Duetime, place: Place, clock: FakeClock
) -> None:
    app.transitions.register(Post, place.engine)
    place.add(Post(id=1, publish_at=clock.now() + timedelta(hours=1)))
    await app.transitions.sweep()
    engine: Any = getattr(place.engine, "sync_engine", place.engine)
    verbs: list[str] = []

    def note(connection: Any, cursor: Any, sql: str, *_: object) -> None:
        if "lock_timeout" not in sql:
            verbs.append(sql.partition(" ")[0])

    event.listen(engine, "before_cursor_execute", note)
    await app.transitions.sweep()
    assert set(verbs) == {"SELECT"}
    assert len(verbs) == 4
