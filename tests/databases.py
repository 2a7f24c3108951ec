"""A pool of databases for tests.

Clearing a database takes a fifth of the time of creating one, and creating our tables takes as
long again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql

from duetime.store.sql.postgres.store import PostgresStore
from servers import Server

OURS = "nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'"
SCHEMAS = f"SELECT nspname FROM pg_namespace WHERE {OURS}"
# The schema as a server creates it in a new database.
PUBLIC = (
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner; GRANT USAGE ON SCHEMA public TO PUBLIC"
)
END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
# Everything that tests could leave behind.
OBJECTS = f"""
    SELECT nspname, relkind, relname, attname, atttypid::text FROM pg_namespace
    JOIN pg_class ON relnamespace = pg_namespace.oid
    JOIN pg_attribute ON attrelid = pg_class.oid AND NOT attisdropped WHERE {OURS}
    UNION ALL SELECT nspname, 'schema', '', '', '' FROM pg_namespace WHERE {OURS}
    UNION ALL SELECT nspname, 'function', proname, '', '' FROM pg_namespace
    JOIN pg_proc ON pronamespace = pg_namespace.oid WHERE {OURS}
    UNION ALL SELECT '', 'trigger', tgname, '', '' FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT '', 'setting', setconfig::text, '', '' FROM pg_db_role_setting
"""
# Our tables, and whether each is small and was never analysed.
TABLES = """
    SELECT relname, pg_relation_size(oid) <= 65536 AND reltuples <= 0 FROM pg_class
    WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'
"""
# Tables whose rows say that the schema exists.
KEPT_TABLES = {"duetime_migrations", "duetime_store"}
# Sequences from which a number was taken start anew.
RESTART_SEQUENCES = (
    "SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence "
    "WHERE pg_sequence_last_value(seqrelid) IS NOT NULL"
)

# Creates tables in the empty database of this URL.
Prepare = Callable[[str], None]


def create_our_tables(url: str) -> None:
    store = PostgresStore(url)
    store.migrate_blocking()
    store.close()


class Ready:
    """Databases that were prepared in one way, and what is in each of them."""

    def __init__(self, prepare: Prepare) -> None:
        self.prepare = prepare
        self.names: list[str] = []
        self.objects: set[Any] = set()
        self.versions: set[Any] = set()


class Databases:
    """The databases of one server, handed out empty, or prepared: with our empty tables, and
    perhaps with others.

    The connection to each database that was given back stays open: opening one costs the server
    more than clearing the database.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._empty: list[str] = []
        self._ready: dict[Prepare, Ready] = {}
        self._prepared: dict[str, Ready] = {}
        self._connections: dict[str, psycopg.Connection] = {}

    def take_empty(self) -> str:
        return self._empty.pop() if self._empty else self._server.create_database()

    def take_ready(self, prepare: Prepare = create_our_tables) -> str:
        """Return a database that `prepare` was called for. Its tables are kept for the next test,
        and their rows deleted."""
        ready = self._ready.setdefault(prepare, Ready(prepare))
        if ready.names:
            return ready.names.pop()
        name = self.take_empty()
        prepare(self._server.database_url(name))
        connection = self._connection(name)
        ready.objects, ready.versions = _objects(connection), _versions(connection)
        self._prepared[name] = ready
        return name

    def give_back(self, name: str) -> None:
        """Clear a database for reuse; drop it if that fails."""
        try:
            self._clear(name, self._connection(name))
        except psycopg.Error:
            self._disconnect(name)
            self._prepared.pop(name, None)
            self._server.drop_database(name)

    def close(self) -> None:
        for name in [*self._connections]:
            self._disconnect(name)

    def _clear(self, name: str, connection: psycopg.Connection) -> None:
        connection.execute(END_OTHERS)
        ready, objects = self._prepared.get(name), _objects(connection)
        if ready is not None:
            _drop_tables(connection, objects - ready.objects)
            kept = objects == ready.objects or _objects(connection) == ready.objects
            if kept and _versions(connection) == ready.versions:
                _delete_all(connection)
                ready.names.append(name)
                return
        _drop_all(connection)
        self._prepared.pop(name, None)
        self._empty.append(name)

    def _connection(self, name: str) -> psycopg.Connection:
        """Return the open connection, or a new one if a test has ended it."""
        connection = self._connections.get(name)
        if connection is not None:
            try:
                connection.execute("SELECT 1")
            except psycopg.OperationalError:
                self._disconnect(name)
            else:
                return connection
        return self._connect(name)

    def _connect(self, name: str) -> psycopg.Connection:
        url = self._server.database_url(name)
        connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
        # Tables that are dropped and created again must not meet old plans.
        connection.prepare_threshold = None
        # Rows are deleted in any order, whatever refers to them.
        connection.execute("SET session_replication_role = replica")
        self._connections[name] = connection
        return connection

    def _disconnect(self, name: str) -> None:
        connection = self._connections.pop(name, None)
        if connection is not None:
            connection.close()


def _objects(connection: psycopg.Connection) -> set[Any]:
    return set(connection.execute(OBJECTS))


def _versions(connection: psycopg.Connection) -> set[Any]:
    return set(connection.execute("SELECT version FROM duetime_migrations"))


def _drop_tables(connection: psycopg.Connection, objects: set[Any]) -> None:
    """Drop the tables that tests have added."""
    tables = {(schema, name) for schema, kind, name, *_ in objects if kind == "r"}
    for table in tables:
        connection.execute(
            sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(*table))
        )


def _delete_all(connection: psycopg.Connection) -> None:
    """Empty the tables. TRUNCATE creates new files, which takes thirty times as long as deleting a
    few rows; but it also removes what tests with many rows or with statistics leave behind."""
    found = connection.execute(TABLES).fetchall()
    used = [(sql.Identifier(name), small) for name, small in found if name not in KEPT_TABLES]
    small = [sql.SQL("DELETE FROM {}").format(name) for name, is_small in used if is_small]
    large = [sql.SQL("TRUNCATE {}").format(name) for name, is_small in used if not is_small]
    connection.execute(sql.SQL("; ").join([*large, *small, sql.SQL(RESTART_SEQUENCES)]))


def _drop_all(connection: psycopg.Connection) -> None:
    schemas = [sql.Identifier(schema) for (schema,) in connection.execute(SCHEMAS)]
    database = sql.Identifier(connection.info.dbname)
    with connection.transaction():
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(database))
        for schema in schemas:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))
        connection.execute(PUBLIC)
