"""A store of its own for each round, beside the data of whoever measures; gone in the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from duetime.errors import StoreUnavailable

SQLITE = "sqlite:///"
# What SQLite keeps beside a file while it is open, and after a crash.
BESIDE = ("", "-wal", "-shm", "-journal")

# Arguments of Duetime that lead to a store.
Place = dict[str, Any]


@contextmanager
def fresh_place(url: str) -> Iterator[Place]:
    """A file in the same folder, or a schema in the same database: nothing that is there is
    read or written."""
    name = f"duetime_bench_{secrets.token_hex(4)}"
    # Tables are made in it, whatever the settings say of those of production.
    with _file(url, name) if url.startswith(SQLITE) else _schema(url, name) as place:
        yield place


@contextmanager
def _file(url: str, name: str) -> Iterator[Place]:
    path = Path(url.removeprefix(SQLITE)).with_name(f"{name}.db")
    try:
        yield {"url": f"{SQLITE}{path}", "migrate": True}
    finally:
        for end in BESIDE:
            path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def _schema(url: str, name: str) -> Iterator[Place]:
    try:
        yield {"url": url, "schema": name, "migrate": True}
    except BaseException:
        with suppress(StoreUnavailable):  # what failed first is what matters
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
        raise StoreUnavailable(f"the schema {name} may be left behind: {error}") from None
