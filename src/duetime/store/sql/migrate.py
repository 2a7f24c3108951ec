"""Migrates a database to the schema version of this code; processes may do so concurrently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from duetime.errors import ConfigError
from duetime.model.health.diagnosis import NO_ENCODING, Schema
from duetime.store.flow import Flow, Mode, Rows, Statement, Steps
from duetime.store.sql.migrate_hint import migrate_command
from duetime.store.sql.statements.loader import Dialect, Migration, StatementLoader
from duetime.store.sql.statements.table_names import DEFAULT_PREFIX, TableNames


class TablesMissing(ConfigError):
    """Migrations are missing in the database, and `migrate=False` forbids applying them."""

    def __init__(self, missing: Sequence[Migration], names: TableNames, url: str) -> None:
        self.listed = ", ".join(migration.name for migration in missing)
        super().__init__(
            f"the database lacks {self.listed} (table {names.quoted('duetime_actions')} and "
            "others), and migrate=False forbids adding them: run "
            f"`{migrate_command(url, names.prefix, names.schema)}`, or pass migrate=True"
        )


def render_migrations(
    dialect: Dialect, prefix: str = DEFAULT_PREFIX, schema: str | None = None
) -> str:
    """Return all migrations as a script, to be applied by hand."""
    loader = StatementLoader(dialect, TableNames(prefix, schema))
    statements = [text for migration in loader.migrations() for text in migration.statements]
    if schema is not None and dialect == "postgres":
        statements = [loader.sql(Statement("create_schema", {})), *statements]
    return "".join(f"{text};\n\n" for text in ("BEGIN", *statements, "COMMIT"))


def pending(loader: StatementLoader) -> Flow[list[Migration]]:
    """Return the migrations that are not applied yet. Raises ConfigError if the database is too
    new for this code."""
    return Flow(lambda: _pending(loader), Mode.read)


def apply(loader: StatementLoader) -> Flow[bool]:
    """Apply pending migrations in one transaction; return False if some are left to apply.

    On PostgreSQL it applies only the next one to tables that are in use: the locks of several would
    be held until all are done.
    """
    return Flow(lambda: _apply(loader), Mode.write, patient=True)


def examine(loader: StatementLoader, perform: Callable[[Flow[Any]], Any]) -> Schema:
    """Compare the schema version of the database with that of this code; changes nothing."""
    known = loader.migrations()[-1].version
    versions: list[int] = perform(Flow(lambda: _applied(loader), Mode.read))
    applied = max(versions, default=0)
    try:
        missing: list[Migration] = perform(pending(loader))
    except ConfigError as error:
        return Schema(applied, known, refused=str(error))
    return Schema(applied, known, tuple(migration.name for migration in missing))


def refuse_missing(missing: Sequence[Migration], names: TableNames, url: str) -> None:
    """Raise TablesMissing if migrations are missing, as `migrate=False` demands."""
    if missing:
        raise TablesMissing(missing, names, url)


def _pending(loader: StatementLoader) -> Steps[list[Migration]]:
    known = loader.migrations()
    ((tables_exist, _),) = yield _tables_query(loader)
    if not tables_exist:
        return known
    applied = yield Statement("applied_migrations", {})
    _refuse_newer(applied, known[-1].version)
    versions = {row[0] for row in applied}
    return [migration for migration in known if migration.version not in versions]


def _applied(loader: StatementLoader) -> Steps[list[int]]:
    ((tables_exist, _),) = yield _tables_query(loader)
    if not tables_exist:
        return []
    return [cast("int", row[0]) for row in (yield Statement("applied_migrations", {}))]


def _apply(loader: StatementLoader) -> Steps[bool]:
    yield Statement("migration_lock", {"lock": loader.names.migration_lock})
    # Checked after taking the lock: another process may have migrated while we waited for it.
    ((tables_exist, schema_exists),) = yield _tables_query(loader)
    if loader.dialect == "postgres" and not tables_exist:
        ((encoding,),) = yield Statement("encoding", {})
        _refuse_encoding(cast("str", encoding))
    if not schema_exists:
        yield Statement("create_schema", {})
    missing = yield from _pending(loader)
    most = 1 if loader.dialect == "postgres" and tables_exist else len(missing)
    if tables_exist:
        yield Statement("migration_patience", {})
    for migration in missing[:most]:
        for statement in migration.steps():  # noqa: UP028 - a list takes no answers
            yield statement
    return len(missing) <= most


def _tables_query(loader: StatementLoader) -> Statement:
    names = loader.names
    params = {"table": f"{names.prefix}migrations", "schema": names.schema}
    return Statement("migrations_table", params)


def _refuse_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that is none. A database that has our tables already is
    used all the same; the doctor names it."""
    if encoding == NO_ENCODING:
        raise ConfigError(
            f"the database has the encoding {NO_ENCODING}, which lets text in that cannot be read "
            "again: create a database with UTF8 (CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE "
            "template0), and give its URL"
        )


def _refuse_newer(applied: Rows, known: int) -> None:
    needed = max((cast("int", row[1]) for row in applied), default=0)
    if needed > known:
        raise ConfigError(
            f"the database needs a duetime that supports schema version {needed}, and this one "
            f"supports up to {known}: upgrade duetime on this machine"
        )
