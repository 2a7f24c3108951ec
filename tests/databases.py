"""A pool of databases for tests.

Clearing a database takes a fifth of the time of creating one, and creating our tables takes as
long again.
"""

from __future__ import annotations

from contextlib import closing
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


class Databases:
    """The databases of one server, handed out empty or with our empty tables."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._empty: list[str] = []
        self._ready: list[str] = []
        self._objects: set[Any] = set()
        self._versions: set[Any] = set()

    def take_empty(self) -> str:
        return self._empty.pop() if self._empty else self._server.create_database()

    def take_ready(self) -> str:
        if self._ready:
            return self._ready.pop()
        name = self.take_empty()
        store = PostgresStore(self._server.database_url(name))
        store.migrate_blocking()
        store.close()
        with self._connect(name) as connection:
            self._objects, self._versions = _objects(connection), _versions(connection)
        return name

    def give_back(self, name: str) -> None:
        """Clear a database for reuse; drop it if that fails."""
        try:
            with self._connect(name) as connection:
                connection.execute(END_OTHERS)
                _drop_tables(connection, _objects(connection) - self._objects)
                if (
                    _objects(connection) == self._objects
                    and _versions(connection) == self._versions
                ):
                    _delete_all(connection)
                    self._ready.append(name)
                else:
                    _drop_all(connection)
                    self._empty.append(name)
        except psycopg.Error:
            self._server.drop_database(name)

    def _connect(self, name: str) -> closing[psycopg.Connection]:
        url = self._server.database_url(name)
        return closing(psycopg.connect(url, autocommit=True, connect_timeout=10))


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
    connection.execute(sql.SQL("; ").join([*large, *small]))


def _drop_all(connection: psycopg.Connection) -> None:
    schemas = [sql.Identifier(schema) for (schema,) in connection.execute(SCHEMAS)]
    database = sql.Identifier(connection.info.dbname)
    with connection.transaction():
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(database))
        for schema in schemas:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))
        connection.execute(PUBLIC)
