"""Migrations are applied once, by the first process, in any database.

`python tests/store/test_migrations.py postgresql://…` rewrites the golden schemas.
"""

import asyncio
import multiprocessing
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from duetime.errors import ConfigError
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.filter import Filter
from duetime.model.state import Outcome, State
from duetime.store.sql.migrate import render_migrations
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.sql.statements.loader import Dialect, StatementLoader
from duetime.store.sql.statements.table_names import TableNames

GOLDEN = Path(__file__).parent / "golden"
LATEST = StatementLoader("sqlite", TableNames()).migrations()[-1].version

# The tables as PostgreSQL describes them, also after a dump and restore.
POSTGRES_SCHEMA = """
    SELECT format('%s.%s %s%s%s', c.relname, a.attname,
                  format_type(a.atttypid, a.atttypmod),
                  CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
                  ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid))
    FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
    LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind = 'r' AND c.relname LIKE 'duetime%%'
    UNION ALL
    SELECT pg_get_indexdef(i.indexrelid) FROM pg_index AS i
    JOIN pg_class AS c ON c.oid = i.indrelid WHERE c.relname LIKE 'duetime%%'
    UNION ALL
    SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
    WHERE conrelid::regclass::text LIKE 'duetime%%' AND contype = 'c'
    UNION ALL
    SELECT format('%s %s', relname, unnest(reloptions)) FROM pg_class
    WHERE relname LIKE 'duetime%%'
"""


def sqlite_schema(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return "".join(f"{row[0]}\n" for row in sorted(rows))


def postgres_schema(url: str) -> str:
    with psycopg.connect(url) as connection:
        rows = connection.execute(POSTGRES_SCHEMA.replace("%%", "%").encode())
        return "".join(f"{line}\n" for line in sorted(str(row[0]) for row in rows))


def start_sqlite(path: str) -> int:
    """Start a process: its first flow migrates."""
    store = SqliteStore(path, timeout=30)
    found = store.perform_blocking(store.find(Filter()))
    store.close()
    return len(found)


def start_postgres(url: str) -> int:
    store = PostgresStore(url, timeout=30)
    found = store.perform_blocking(store.find(Filter()))
    store.close()
    return len(found)


class TestGolden:
    """The schema changes only together with the golden files."""

    def test_sqlite(self, sqlite_path: Path) -> None:
        SqliteStore(sqlite_path).migrate_blocking()
        assert sqlite_schema(sqlite_path) == (GOLDEN / "sqlite.txt").read_text("utf-8")

    def test_postgres(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        store.migrate_blocking()
        store.close()
        assert postgres_schema(postgres_url) == (GOLDEN / "postgres.txt").read_text("utf-8")

    @pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
    def test_each_migration_notes_its_own_version(self, dialect: Dialect) -> None:
        migrations = StatementLoader(dialect, TableNames()).migrations()
        versions = [migration.version for migration in migrations]
        assert versions == sorted({*versions})
        for migration in migrations:
            assert f"VALUES ({migration.version}, " in migration.statements[-1]

    def test_both_dialects_have_the_same(self) -> None:
        names = [
            [m.name for m in StatementLoader(d, TableNames()).migrations()]
            for d in ("sqlite", "postgres")
        ]
        assert names[0] == names[1]


class TestManyAtOnce:
    """Processes that start together: the first migrates, the others wait for it."""

    @pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
    def test_sqlite(self, sqlite_path: Path, pool: Callable[..., ThreadPoolExecutor]) -> None:
        with _pool(pool) as workers:
            assert list(workers.map(start_sqlite, [str(sqlite_path)] * 8)) == [0] * 8

    @pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
    def test_postgres(self, postgres_url: str, pool: Callable[..., ThreadPoolExecutor]) -> None:
        with _pool(pool) as workers:
            assert list(workers.map(start_postgres, [postgres_url] * 8)) == [0] * 8

    async def test_tasks_of_one_store(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        found = await asyncio.gather(*(store.perform(store.find(Filter())) for _ in range(8)))
        await store.aclose()
        assert [len(page) for page in found] == [0] * 8


class TestDatabasesInUse:
    def test_existing_tables_are_not_changed(self, sqlite_path: Path) -> None:
        with closing(sqlite3.connect(sqlite_path)) as connection:
            connection.execute("CREATE TABLE actions (x)")
            connection.execute("INSERT INTO actions VALUES (1)")
            connection.commit()
        SqliteStore(sqlite_path).migrate_blocking()
        with closing(sqlite3.connect(sqlite_path)) as connection:
            assert connection.execute("SELECT x FROM actions").fetchall() == [(1,)]

    async def test_prefix_and_schema_keep_stores_apart(self, postgres_url: str) -> None:
        stores = [
            PostgresStore(postgres_url),
            PostgresStore(postgres_url, prefix="other_"),
            PostgresStore(postgres_url, schema="Mixed"),
            PostgresStore(postgres_url, schema="Mixed", prefix="other_"),
        ]
        for store in stores:
            assert not [*(await store.perform(store.find(Filter())))]
            await store.aclose()
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute(
                "SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE '%\\_actions'"
            ).fetchall()
        assert sorted(found) == [
            ("Mixed", "duetime_actions"),
            ("Mixed", "other_actions"),
            ("public", "duetime_actions"),
            ("public", "other_actions"),
        ]

    async def test_a_prefix_in_sqlite(self, sqlite_path: Path) -> None:
        for prefix in ("a_", "b_"):
            store = SqliteStore(sqlite_path, prefix=prefix)
            assert not [*(await store.perform(store.find(Filter())))]
            await store.aclose()
        assert "b_actions_due" in sqlite_schema(sqlite_path)

    def test_a_user_who_may_not_create_can_still_work(self, postgres_url: str) -> None:
        with closing(PostgresStore(postgres_url, schema="app")) as rich:
            rich.migrate_blocking()
        with _restricted_user(postgres_url) as url, psycopg.connect(postgres_url) as admin:
            name = admin.info.dbname
            admin.execute(f"GRANT USAGE ON SCHEMA app TO poor_{name}".encode())
            admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA app TO poor_{name}".encode())
            admin.commit()
            with closing(PostgresStore(url, schema="app")) as store:
                assert not len(store.perform_blocking(store.find(Filter())))

    def test_a_user_who_may_not_create_missing_tables_gets_a_typed_error(
        self, postgres_url: str
    ) -> None:
        with (
            _restricted_user(postgres_url) as url,
            closing(PostgresStore(url, schema="app")) as store,
            pytest.raises(ConfigError, match="duetime migrate"),
        ):
            store.perform_blocking(store.find(Filter()))


class TestVersions:
    def test_without_migrate_a_missing_table_is_a_typed_error(
        self, sqlite_path: Path, postgres_url: str
    ) -> None:
        for store in (
            SqliteStore(sqlite_path, migrate=False),
            PostgresStore(postgres_url, migrate=False),
        ):
            assert [migration.name for migration in store.pending()] == NAMES
            with pytest.raises(ConfigError, match="duetime migrate"):
                store.perform_blocking(store.find(Filter()))
            store.migrate_blocking()
            assert store.pending() == []
            assert not len(store.perform_blocking(store.find(Filter())))
            store.close()

    @pytest.mark.parametrize(("oldest_code", "fine"), [(LATEST, True), (LATEST + 1, False)])
    def test_a_newer_database_is_refused_only_if_it_says_so(
        self, sqlite_path: Path, postgres_url: str, oldest_code: int, fine: bool
    ) -> None:
        newer = f"INSERT INTO duetime_migrations VALUES ({LATEST + 1}, 0, {oldest_code})"
        for store in (SqliteStore(sqlite_path), PostgresStore(postgres_url)):
            store.migrate_blocking()
        with closing(sqlite3.connect(sqlite_path)) as lite:
            lite.execute(newer)
            lite.commit()
        with psycopg.connect(postgres_url) as post:
            post.execute(newer.encode())
        for store in (SqliteStore(sqlite_path), PostgresStore(postgres_url)):
            if fine:
                assert not len(store.perform_blocking(store.find(Filter())))
            else:
                with pytest.raises(ConfigError, match="upgrade duetime"):
                    store.perform_blocking(store.find(Filter()))
            store.close()


class TestUpgrading:
    def test_code_of_the_schema_before_goes_on(
        self, sqlite_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It knows one migration less, and need not know the last."""
        claims = ClaimOrder("w", [LaneSpan("1.0.default", 0, 0)], 10, 1)
        for store in (SqliteStore(sqlite_path), PostgresStore(postgres_url)):
            store.migrate_blocking()
            run_script(store, [OLD_ACTION])
            known = store._loader.migrations()[:-1]
            with monkeypatch.context() as patch:
                patch.setattr(StatementLoader, "migrations", lambda _, known=known: known)
                assert store.pending() == []
                [claim] = store.perform_blocking(store.claim(claims)).claims
                end = Finish(claim.id, claim.token, State.failed, Outcome.failed)
                assert store.perform_blocking(store.complete([end])).applied == {claim.id}
            store.close()

    def test_what_an_earlier_schema_holds_stays(self, sqlite_path: Path, postgres_url: str) -> None:
        for store in (SqliteStore(sqlite_path), PostgresStore(postgres_url)):
            first = store._loader.migrations()[0]
            run_script(store, [*first.statements, OLD_ACTION])
            assert [migration.name for migration in store.pending()] == NAMES[1:]
            [found] = store.perform_blocking(store.find(Filter()))
            assert (found.kind, found.job) == ("mail", None)
            assert store.pending() == []
            store.close()


NAMES = [
    *("0001_actions", "0002_jobs", "0003_declared", "0004_worker_health"),
    *("0005_tracebacks", "0006_expiry", "0007_audit"),
    *("0008_finding", "0009_queues", "0010_bulks", "0011_reports", "0012_figures"),
    *("0013_access", "0014_answers", "0015_notifications"),
]
OLD_ACTION = """
    INSERT INTO duetime_actions (id, due_at, created_at, version, priority, kind, lane, queue,
                                 created_by, payload)
    VALUES ('019a0000-0000-7000-8000-000000000001', 1, 0, 1, 1, 'mail', '1.0.default', 'default',
            'ann', '{}')
"""


def run_script(store: SqliteStore | PostgresStore, statements: Sequence[str]) -> None:
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store._path)) as lite:
            lite.executescript(";".join(statements))
        return
    with psycopg.connect(store._url) as post:
        for statement in statements:
            post.execute(statement.encode())


class TestPrinted:
    """The script that `duetime migrate --sql` prints has the effect of migrating."""

    def test_sqlite(self, sqlite_path: Path) -> None:
        with closing(sqlite3.connect(sqlite_path)) as connection:
            connection.executescript(render_migrations("sqlite"))
        assert sqlite_schema(sqlite_path) == (GOLDEN / "sqlite.txt").read_text("utf-8")
        assert SqliteStore(sqlite_path, migrate=False).pending() == []

    def test_postgres(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(render_migrations("postgres", "my_", "app").encode())
        store = PostgresStore(postgres_url, prefix="my_", schema="app", migrate=False)
        assert not len(store.perform_blocking(store.find(Filter())))
        store.close()


def _pool(pool: Callable[..., ThreadPoolExecutor]) -> ThreadPoolExecutor:
    if pool is ThreadPoolExecutor:
        return pool(8)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["duetime.store.sql.postgres.store"])
    return pool(8, mp_context=context)


@contextmanager
def _restricted_user(url: str) -> Iterator[str]:
    """Create a user who may create nothing in this database, until the test ends."""
    with psycopg.connect(url, autocommit=True) as admin:
        name = f"poor_{admin.info.dbname}"
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'".encode())
        try:
            yield f"postgresql://{name}:secret@{url.rsplit('@', 1)[1]}"
        finally:
            admin.execute(f"DROP OWNED BY {name}".encode())
            admin.execute(f"DROP ROLE {name}".encode())


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        SqliteStore(f"{folder}/x.db").migrate_blocking()
        (GOLDEN / "sqlite.txt").write_text(sqlite_schema(Path(folder) / "x.db"), "utf-8")
    PostgresStore(sys.argv[1]).migrate_blocking()
    (GOLDEN / "postgres.txt").write_text(postgres_schema(sys.argv[1]), "utf-8")
