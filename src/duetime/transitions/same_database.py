"""Compare the models' database with the store's database, by their URLs."""

from __future__ import annotations

import os

from sqlalchemy import URL, Engine, make_url

from duetime.errors import ConfigError
from duetime.transitions.target import Target


def check_same_database(targets: list[Target], engine: Engine, store: str, durable: bool) -> None:
    """Raise ConfigError if actions must be inserted in the transaction that changes the rows, and
    the store is surely another database. URLs cannot tell whether two host names mean one server:
    in that case the first sweep checks."""
    other = other_database(engine, store)
    for target in targets if other is not None else ():
        need = "an action=" if target.declared.action is not None else None
        need = need or ("a durable subscriber of its event" if durable else None)
        if need is not None:
            raise ConfigError(
                f"transition {target.name} has {need}, whose action is inserted in the "
                f"transaction that changes the row; but its table is in "
                f"{_without_password(engine.url)} and actions are in {other}: use one database "
                "for both, or schedule the action from a hook, on_set_field= or on_delete=, which "
                "a crash may lose"
            )


def other_database(engine: Engine, store: str) -> str | None:
    """Return the store's URL, without password, if it is surely another database."""
    if store.startswith("memory:"):
        return "memory"
    url = make_url(store)
    same = url.get_backend_name() == engine.url.get_backend_name() and (
        _file_path(url) == _file_path(engine.url)
        if engine.dialect.name == "sqlite"
        else _database_name(url) == _database_name(engine.url)
    )
    return None if same else _without_password(url)


def _file_path(url: URL) -> str:
    return os.path.realpath(url.database or "")


def _database_name(url: URL) -> str | None:
    """Return the database's name, by default the user's."""
    name = url.database or url.query.get("dbname")
    return str(name or url.username or "")


def _without_password(url: URL) -> str:
    return url.set(query={}).render_as_string(hide_password=True)
