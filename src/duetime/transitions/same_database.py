"""Whether models live in the store's database, as far as its URL tells."""

from __future__ import annotations

import os

from sqlalchemy import URL, Engine, make_url

from duetime.errors import ConfigError
from duetime.transitions.target import Target


def refuse_elsewhere(targets: list[Target], engine: Engine, store: str, durable: bool) -> None:
    """What is written in one transaction with the rows must be in their database. Two names of
    one server are told apart by nobody: there, the first sweep looks."""
    other = elsewhere(engine, store)
    for target in targets if other is not None else ():
        along = "an action=" if target.declared.action is not None else None
        along = along or ("a durable subscriber of its event" if durable else None)
        if along is not None:
            raise ConfigError(
                f"transition of {target.name} has {along}, which is written in the transaction "
                f"that changes the row; but its table is in {_shown(engine.url)}, and actions are "
                f"in {other}: use one database for both, or schedule it from a hook, "
                "on_set_field= or on_delete=, which a crash may lose"
            )


def elsewhere(engine: Engine, store: str) -> str | None:
    """The store's place, if it is surely another one."""
    if store.startswith("memory:"):
        return "memory"
    there = make_url(store)
    same = there.get_backend_name() == engine.url.get_backend_name() and (
        _file(there) == _file(engine.url)
        if engine.dialect.name == "sqlite"
        else _database(there) == _database(engine.url)
    )
    return None if same else _shown(there)


def _file(url: URL) -> str:
    return os.path.realpath(url.database or "")


def _database(url: URL) -> str | None:
    """Named after its user, if it is not named."""
    named = url.database or url.query.get("dbname")
    return str(named or url.username or "")


def _shown(url: URL) -> str:
    return url.set(query={}).render_as_string(hide_password=True)
