"""Opens the store that a command reads or changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.hints import job_names
from duetime.cli.loading import load_app, named_app
from duetime.cli.server import chosen_server, has_store
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
    `named_app` says which app is meant. With `--server`, yield an app that is connected to it.

    Commands never create tables in a store that is given by its URL: `duetime migrate` does.
    """
    server = chosen_server()
    if server is not None:
        if app is not None or url is not None:
            raise typer.BadParameter("give --server alone: it has its own app and store")
        with _closing(server.connect()) as connected:
            yield connected
        return
    if app is not None and url is not None:
        raise typer.BadParameter("give --app or --url, not both: an app has its own store")
    with _open_store(named_app(app, url), url) as target:
        yield target


@contextmanager
def _open_store(app: str | None, url: str | None) -> Iterator[Duetime]:
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    if not has_store(target):
        with _closing(target):
            yield target
        return
    command = migrate_command_for(target, app, url)
    if app is None:
        refuse_missing_file(target, command)
    refuse_memory(target)
    with _closing(target):
        try:
            with explain_missing_tables(target, command), acting_from("cli"):
                yield target
        except JobNotFound as error:
            raise JobNotFound(error.name, job_names(target)) from None


@contextmanager
def _closing(target: Duetime) -> Iterator[Duetime]:
    try:
        yield target
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
