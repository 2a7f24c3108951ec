"""Opens the store that a command reads or changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.hints import job_names
from duetime.cli.loading import load_app, named_app
from duetime.errors import JobNotFound
from duetime.model.act import acting_from
from duetime.model.store_url import mask_password, plain_url
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.migrate import TablesMissing
from duetime.store.sql.migrate_hint import migrate_command
from duetime.store.sql.sqlite.errors import is_missing

SQLITE = "sqlite:///"


@contextmanager
def open_app(app: str | None, url: str | None) -> Iterator[Duetime]:
    """Yield the named app, or a new one for the URL, and close it afterwards. If neither is given,
    `named_app` says which app is meant.

    Commands never create tables in a store that is given by its URL: `duetime migrate` does.
    """
    if app is not None and url is not None:
        raise typer.BadParameter("give --app or --url, not both: an app has its own store")
    app = named_app(app, url)
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    command = migrate_command_for(target, app, url)
    if app is None:
        refuse_missing_file(target, command)
    refuse_memory(target)
    try:
        with explain_missing_tables(target, command), acting_from("cli"):
            yield target
    except JobNotFound as error:
        raise JobNotFound(error.name, job_names(target)) from None
    finally:
        target.sync.close()


def migrate_command_for(target: Duetime, app: str | None, url: str | None) -> str:
    """The command that creates the tables of this store, with the `--app` or `--url` given here.

    Other values come from settings, which that command reads as well.
    """
    if app is not None:
        return f"duetime migrate --app {app}"
    return migrate_command(url, target.settings.prefix, target.settings.schema)


@contextmanager
def explain_missing_tables(app: Duetime, command: str) -> Iterator[None]:
    """Replace the remedy for missing tables, a Python argument, with the migrate command."""
    try:
        yield
    except TablesMissing as error:
        raise CommandError(
            f"{mask_password(app.settings.url)} lacks {error.listed}: run `{command}`"
        ) from None


def refuse_missing_file(app: Duetime, command: str) -> None:
    """Refuse a file that does not exist: SQLite would create an empty one for a misspelt name."""
    url = plain_url(app.settings.url) or ""
    path = url.removeprefix(SQLITE)
    if url.startswith(SQLITE) and is_missing(path):
        raise CommandError(
            f"there is no file {path}: name the store with --url or DUETIME_URL, "
            f"or the app with --app module:app; `{command}` creates a new file"
        )


def refuse_memory(app: Duetime) -> None:
    if isinstance(app.store, MemoryStore):
        raise CommandError(
            "memory:// exists inside one process only and cannot be reached from here: "
            "give the --url of a SQLite file or a PostgreSQL database"
        )
