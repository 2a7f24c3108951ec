"""Brings a database to the schema that this code knows, once, whoever comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from duetime.errors import ConfigError
from duetime.model.health.diagnosis import Schema
from duetime.store.flow import Flow, Mode, Rows, Statement, Steps
from duetime.store.sql.migrate_hint import migrate_command
from duetime.store.sql.statements.loader import Dialect, Loader, Migration
from duetime.store.sql.statements.table_names import WRITTEN, Names


class TablesMissing(ConfigError):
    """The database lacks migrations that `migrate=False` forbids to apply."""

    def __init__(self, missing: Sequence[Migration], names: Names, url: str) -> None:
        self.listed = ", ".join(one.name for one in missing)
        super().__init__(
            f"the database lacks {self.listed} (tables {names.of('duetime_actions')} and others), "
            "and migrate=False forbids to add them: run "
            f"`{migrate_command(url, names.prefix, names.schema)}`, or pass migrate=True"
        )


def render_migrations(dialect: Dialect, prefix: str = WRITTEN, schema: str | None = None) -> str:
    """Every migration as a script, for those who apply them by hand."""
    loader = Loader(dialect, Names(prefix, schema))
    statements = [text for one in loader.migrations() for text in one.statements]
    if schema is not None and dialect == "postgres":
        statements = [loader.sql(Statement("create_schema", {})), *statements]
    return "".join(f"{text};\n\n" for text in ("BEGIN", *statements, "COMMIT"))


def pending(loader: Loader) -> Flow[list[Migration]]:
    """The migrations that this database lacks. ConfigError if it is too new for this code."""
    return Flow(lambda: _pending(loader), Mode.read)


def apply(loader: Loader) -> Flow[None]:
    """Apply what is pending, in one transaction."""
    return Flow(lambda: _apply(loader), Mode.write)


def examine(loader: Loader, perform: Callable[[Flow[Any]], Any]) -> Schema:
    """How far this database and this code are apart; nothing is changed."""
    known = loader.migrations()[-1].version
    versions: list[int] = perform(Flow(lambda: _applied(loader), Mode.read))
    applied = max(versions, default=0)
    try:
        missing: list[Migration] = perform(pending(loader))
    except ConfigError as error:
        return Schema(applied, known, refused=str(error))
    return Schema(applied, known, tuple(one.name for one in missing))


def refuse(missing: Sequence[Migration], names: Names, url: str) -> None:
    """What `migrate=False` says instead of migrating."""
    if missing:
        raise TablesMissing(missing, names, url)


def _pending(loader: Loader) -> Steps[list[Migration]]:
    known = loader.migrations()
    ((tables_exist, _),) = yield _look(loader)
    if not tables_exist:
        return known
    applied = yield Statement("migrations", {})
    _refuse_newer(applied, known[-1].version)
    versions = {row[0] for row in applied}
    return [one for one in known if one.version not in versions]


def _applied(loader: Loader) -> Steps[list[int]]:
    ((tables_exist, _),) = yield _look(loader)
    if not tables_exist:
        return []
    return [cast("int", row[0]) for row in (yield Statement("migrations", {}))]


def _apply(loader: Loader) -> Steps[None]:
    yield Statement("migration_lock", {"lock": loader.names.lock})
    # Looked at again: another may have migrated while we waited for the lock.
    ((_, schema_exists),) = yield _look(loader)
    if not schema_exists:
        yield Statement("create_schema", {})
    for migration in (yield from _pending(loader)):
        for statement in migration.steps():  # noqa: UP028 - a list takes no answers
            yield statement


def _look(loader: Loader) -> Statement:
    names = loader.names
    params = {"table": f"{names.prefix}migrations", "schema": names.schema}
    return Statement("migrations_table", params)


def _refuse_newer(applied: Rows, known: int) -> None:
    needed = max((cast("int", row[1]) for row in applied), default=0)
    if needed > known:
        raise ConfigError(
            f"the database needs code that knows schema version {needed}, and this duetime knows "
            f"up to {known}: upgrade duetime on this machine"
        )
