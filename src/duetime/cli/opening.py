"""Opening the store that a command speaks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from duetime.app import Duetime
from duetime.cli.failures import Mistake
from duetime.cli.loading import load_app
from duetime.store.memory import MemoryStore

SQLITE = "sqlite:///"


@contextmanager
def opened(app: str | None, url: str | None) -> Iterator[Duetime]:
    """The app named, or one made for the URL; closed in the end.

    Looking at a store makes nothing: with a URL alone, tables come from `duetime migrate`.
    """
    if app is not None and url is not None:
        raise typer.BadParameter("give --app or --url, not both: an app knows its store")
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    if app is None:
        refuse_missing_file(target)
    refuse_memory(target)
    try:
        yield target
    finally:
        target.sync.close()


def refuse_missing_file(app: Duetime) -> None:
    """SQLite would make an empty file of every misspelt name."""
    url = app.settings.url
    path = Path(url.removeprefix(SQLITE))
    if url.startswith(SQLITE) and not path.exists():
        raise Mistake(
            f"there is no file {path}: name the store with --url or DUETIME_URL, "
            "or the app with --app module:app; `duetime migrate` makes a new file"
        )


def refuse_memory(app: Duetime) -> None:
    if isinstance(app.store, MemoryStore):
        raise Mistake(
            "memory:// lives inside one process and cannot be reached from here: "
            "give the --url of a SQLite file or a PostgreSQL database"
        )
