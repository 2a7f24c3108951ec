"""Custom types, factories and settings of a caller's connection do not affect our statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg import sql
from psycopg.adapt import Dumper, Loader
from psycopg.rows import dict_row

from api.apps import Note, with_payloads
from duetime import Duetime
from duetime.errors import IllegalState
from joining.callers import ON_POSTGRES, Caller

LATER = datetime(2099, 1, 1, tzinfo=UTC)


class Shouting(Loader):
    def load(self, data: Any) -> str:
        return bytes(data).decode().upper()


class Quoting(Dumper):
    def dump(self, obj: Any) -> bytes:
        return f"<<{obj}>>".encode()


def play(app: Duetime, connection: Any) -> None:
    """Every verb, each with all that it reads."""
    verbs = app.sync
    action = verbs.schedule(Note("say"), at=LATER, key="k", connection=connection)
    again = verbs.schedule(Note("what"), at=LATER, key="k", connection=connection)
    assert (again.id, again.payload, again.due_at) == (action.id, Note("say"), LATER)
    other = verbs.schedule(
        Note("new"), at=LATER, key="k", if_exists="replace", connection=connection
    )
    assert (other.id, other.payload) == (action.id, Note("new"))
    sooner = verbs.reschedule(action.id, at=LATER - timedelta(1), connection=connection)
    assert sooner.due_at == LATER - timedelta(1)
    assert verbs.cancel(action.id, connection=connection).payload == Note("new")
    with pytest.raises(IllegalState, match="cancelled"):
        verbs.retry(action.id, connection=connection)


class TestPsycopg:
    def test_row_factories_and_adapters(self, postgres_url: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        with psycopg.connect(postgres_url, row_factory=dict_row) as mine:
            for name in ("text", "int8", "int4", "int2", "uuid", "json"):
                mine.adapters.register_loader(name, Shouting)
            mine.adapters.register_dumper(str, Quoting)
            play(app, mine)
        app.sync.close()

    def test_a_cursor_that_binds_on_the_client(self, postgres_url: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        with psycopg.connect(postgres_url, cursor_factory=psycopg.ClientCursor) as mine:
            play(app, mine)
        app.sync.close()

    def test_a_pipeline_that_is_open(self, postgres_url: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        with psycopg.connect(postgres_url) as mine, mine.pipeline():
            play(app, mine)
        app.sync.close()

    @pytest.mark.parametrize("path", ["pg_catalog", '"no such schema"', ""])
    def test_a_search_path_without_our_tables(self, postgres_url: str, path: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        with psycopg.connect(postgres_url) as mine:
            mine.execute("SELECT set_config('search_path', %s, false)", [path])
            play(app, mine)
        app.sync.close()

    def test_tables_of_the_same_name_before_ours(self, postgres_url: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        app.sync.find()
        with psycopg.connect(postgres_url) as mine:
            mine.execute("CREATE TEMP TABLE duetime_actions (LIKE public.duetime_actions)")
            play(app, mine)
            assert mine.execute("SELECT count(*) FROM duetime_actions").fetchone() == (0,)
        app.sync.close()

    def test_a_schema_that_needs_quoting_found_by_the_search_path(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as mine:
            mine.execute('CREATE SCHEMA "my-App"')
            database = sql.Identifier(mine.info.dbname)
            mine.execute(sql.SQL('ALTER DATABASE {} SET search_path TO "my-App"').format(database))
        app = with_payloads(Duetime(postgres_url))
        with psycopg.connect(postgres_url) as mine:
            mine.execute("SET search_path TO public")
            play(app, mine)
        app.sync.close()


class TestAsyncpg:
    async def test_codecs_and_records(self, postgres_url: str) -> None:
        class MyRecord(asyncpg.Record):  # type: ignore[misc]
            def __getattr__(self, name: str) -> Any:
                return self[name]

        app = with_payloads(Duetime(postgres_url))
        mine = await asyncpg.connect(postgres_url, record_class=MyRecord)
        for name in ("json", "jsonb", "uuid"):
            await mine.set_type_codec(
                name, encoder=lambda v: f'"{v}"', decoder=lambda v: 0, schema="pg_catalog"
            )
        async with mine.transaction():
            first = await app.schedule(Note("say"), at=LATER, key="k", connection=mine)
            again = await app.schedule(Note(), at=LATER, key="k", connection=mine)
            assert (again.id, again.payload) == (first.id, Note("say"))
            await app.cancel(first.id, connection=mine)
        assert (await app.get(first.id)).state == "cancelled"
        await mine.close()
        await app.aclose()

    async def test_a_connection_lent_by_a_pool(self, postgres_url: str) -> None:
        app = with_payloads(Duetime(postgres_url))
        async with (
            asyncpg.create_pool(postgres_url, min_size=1, max_size=1) as pool,
            pool.acquire() as mine,
            mine.transaction(),
        ):
            action = await app.schedule(Note(), at=LATER, connection=mine)
        assert (await app.get(action.id)).payload == Note()
        await app.aclose()


class TestSqlite3:
    @pytest.fixture
    def shouting(self) -> Iterator[None]:
        """Converters are the whole process's, so they are put back."""
        for name in ("text", "integer", "bigint"):
            sqlite3.register_converter(name, bytes.upper)
        yield
        for name in ("text", "integer", "bigint"):
            sqlite3.converters.pop(name.upper(), None)

    @pytest.mark.usefixtures("shouting")
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda mine: setattr(mine, "row_factory", sqlite3.Row),
            lambda mine: setattr(mine, "row_factory", lambda cursor, row: "nothing"),
            lambda mine: setattr(mine, "text_factory", bytes),
        ],
    )
    def test_factories_and_converters(
        self, sqlite_path: Path, spoil: Callable[[sqlite3.Connection], None]
    ) -> None:
        app = with_payloads(Duetime(f"sqlite:///{sqlite_path}"))
        types = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES
        with closing(sqlite3.connect(sqlite_path, detect_types=types)) as mine:
            spoil(mine)
            before = (mine.row_factory, mine.text_factory)
            play(app, mine)
            mine.commit()
            assert (mine.row_factory, mine.text_factory) == before
        app.sync.close()


@pytest.mark.parametrize("caller_name", ON_POSTGRES, indirect=True)
async def test_a_delay_counts_from_now_and_not_from_when_the_transaction_began(
    app: Duetime, caller: Caller
) -> None:
    await caller.execute("SELECT now()")
    await caller.execute("SELECT pg_sleep(0.4)")
    action = await caller.call(app, "schedule", Note(), delay=10)
    began = await caller.execute("SELECT CAST(extract(epoch FROM now()) * 1000 AS bigint)")
    assert action.due_at.timestamp() * 1000 - began >= 10_350


class TestIsolation:
    @pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
    async def test_the_callers_isolation_is_the_callers(
        self, postgres_url: str, level: str
    ) -> None:
        app = with_payloads(Duetime(postgres_url))
        await app.find()
        with psycopg.connect(postgres_url) as mine:
            mine.isolation_level = psycopg.IsolationLevel[level]
            action = app.sync.schedule(Note(), at=LATER, key="k", connection=mine)
            [row] = mine.execute("SHOW transaction_isolation")
        assert row == (level.lower().replace("_", " "),)
        assert (await app.get(action.id)).key == "k"
        await app.aclose()
