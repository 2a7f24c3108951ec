"""`duetime migrate`: upgrades a database to the schema of this version."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Protocol, runtime_checkable

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.loading import load_app, named_app
from duetime.cli.open_store import migrate_command_for, refuse_memory, refuse_missing_file
from duetime.cli.options import App, Url
from duetime.cli.output import print_lines
from duetime.model.store_url import mask_password
from duetime.store.sql.migrate import render_migrations
from duetime.store.sql.statements.loader import Dialect, Migration


@runtime_checkable
class Migratable(Protocol):
    """A store with a schema that can be migrated."""

    def pending(self) -> Sequence[Migration]: ...

    def migrate_blocking(self) -> None: ...

    async def build_indexes(self, *, by_operator: bool = False) -> bool: ...


def migrate(
    url: Url = None,
    app: App = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of table names.")] = None,
    schema: Annotated[str | None, typer.Option(help="PostgreSQL schema of the tables.")] = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print every migration as SQL, without connecting.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if migrations are pending.")
    ] = False,
) -> None:
    """Create or upgrade duetime's tables."""
    if sql and check:
        raise typer.BadParameter("give --sql or --check, not both")
    if app is not None and (url or prefix or schema):
        raise typer.BadParameter("give --app alone: an app has its own store, prefix and schema")
    app = app if prefix or schema else named_app(app, url)
    target = Duetime(url, prefix=prefix, schema=schema) if app is None else load_app(app)
    refuse_memory(target)
    if sql:
        print_lines(*_script(target).splitlines())
        return
    try:
        _check(target, migrate_command_for(target, app, url)) if check else _apply(target)
    finally:
        target.sync.close()


def _script(app: Duetime) -> str:
    settings = app.settings
    dialect: Dialect = "sqlite" if settings.url.startswith("sqlite:") else "postgres"
    return render_migrations(dialect, settings.prefix, settings.schema)


def _check(app: Duetime, command: str) -> None:
    refuse_missing_file(app, command)
    missing = _store(app).pending()
    if missing:
        raise CommandError(f"{_place(app)} lacks {_names(missing)}: run `{command}`")
    print_lines(f"{_place(app)} is up to date")


def _apply(app: Duetime) -> None:
    store = _store(app)
    missing = store.pending()
    store.migrate_blocking()
    built = asyncio.run(store.build_indexes(by_operator=True))
    done = f": applied {_names(missing)}" if missing else " was up to date; nothing to do"
    print_lines(f"{_place(app)}{done}")
    if not built:
        print_lines("another process is building the indexes by which actions are found")


def _store(app: Duetime) -> Migratable:
    if not isinstance(app.store, Migratable):
        raise CommandError(f"a {type(app.store).__name__} has no schema to migrate")
    return app.store


def _place(app: Duetime) -> str:
    return mask_password(app.settings.url)


def _names(missing: Sequence[Migration]) -> str:
    return ", ".join(migration.name for migration in missing)
