"""A scratch store for each round, beside the user's data, removed at the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from duetime.errors import StoreUnavailable

SQLITE = "sqlite:///"
# Suffixes of the files that SQLite keeps while a database is open, and after a crash.
SQLITE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")

# Arguments of Duetime that select a store.
StoreArguments = dict[str, Any]


@contextmanager
def scratch_store(url: str) -> Iterator[StoreArguments]:
    """Yield a new file in the same folder, or a new schema in the same database; existing data is
    neither read nor written."""
    name = f"duetime_bench_{secrets.token_hex(4)}"
    # Tables are created here even if the settings forbid migrations in production.
    with _file(url, name) if url.startswith(SQLITE) else _schema(url, name) as store:
        yield store


@contextmanager
def _file(url: str, name: str) -> Iterator[StoreArguments]:
    path = Path(url.removeprefix(SQLITE)).with_name(f"{name}.db")
    try:
        yield {"url": f"{SQLITE}{path}", "migrate": True}
    finally:
        for suffix in SQLITE_FILE_SUFFIXES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def _schema(url: str, name: str) -> Iterator[StoreArguments]:
    try:
        yield {"url": url, "schema": name, "migrate": True}
    except BaseException:
        with suppress(StoreUnavailable):  # the first error matters
            _drop(url, name)
        raise
    _drop(url, name)


def _drop(url: str, name: str) -> None:
    import psycopg
    from psycopg import sql

    try:
        with psycopg.connect("postgresql://" + url.partition("://")[2]) as connection:
            drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name))
            connection.execute(drop)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"schema {name} could not be dropped: {error}") from None
