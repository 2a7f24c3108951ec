"""Opening the store that a command speaks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from duetime.app import Duetime
from duetime.cli.failures import Mistake
from duetime.cli.loading import load_app
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.migrate import TablesMissing
from duetime.store.sql.migrate_hint import masked, migrate_command
from duetime.store.sql.sqlite.errors import is_missing

SQLITE = "sqlite:///"


@contextmanager
def opened(app: str | None, url: str | None) -> Iterator[Duetime]:
    """The app named, or one made for the URL; closed in the end.

    Looking at a store makes nothing: with a URL alone, tables come from `duetime migrate`.
    """
    if app is not None and url is not None:
        raise typer.BadParameter("give --app or --url, not both: an app knows its store")
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    command = migrating(target, app, url)
    if app is None:
        refuse_missing_file(target, command)
    refuse_memory(target)
    try:
        with tables_needed(target, command):
            yield target
    finally:
        target.sync.close()


def migrating(target: Duetime, app: str | None, url: str | None) -> str:
    """The command that makes the tables of this store, for who typed `--app` or `--url`.

    What nobody typed comes from settings, which that command finds as well.
    """
    if app is not None:
        return f"duetime migrate --app {app}"
    return migrate_command(url, target.settings.prefix, target.settings.schema)


@contextmanager
def tables_needed(app: Duetime, command: str) -> Iterator[None]:
    """Missing tables have a remedy here that is no argument of Python."""
    try:
        yield
    except TablesMissing as error:
        raise Mistake(f"{masked(app.settings.url)} lacks {error.listed}: run `{command}`") from None


def refuse_missing_file(app: Duetime, command: str) -> None:
    """SQLite would make an empty file of every misspelt name."""
    url = app.settings.url
    path = url.removeprefix(SQLITE)
    if url.startswith(SQLITE) and is_missing(path):
        raise Mistake(
            f"there is no file {path}: name the store with --url or DUETIME_URL, "
            f"or the app with --app module:app; `{command}` makes a new file"
        )


def refuse_memory(app: Duetime) -> None:
    if isinstance(app.store, MemoryStore):
        raise Mistake(
            "memory:// lives inside one process and cannot be reached from here: "
            "give the --url of a SQLite file or a PostgreSQL database"
        )
