"""Decides whether a test may empty the app's current store: never one that may hold real data, by
mistake."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from duetime.api.setup import CurrentSetup, Setup
from duetime.errors import ConfigError, shown
from duetime.store.memory.store import MemoryStore


def confirm_wipe(current: CurrentSetup, wipe: str | None) -> None:
    """Raise ConfigError unless the store is one of tests, or `wipe` is its name."""
    name = _name(current.now)
    if not name:
        raise ConfigError(
            "app.testing.reset() needs to know what it empties, but the app's url names no "
            "database: write postgresql://host/database"
        )
    if wipe is not None and wipe != name:
        raise ConfigError(f"wipe={shown(wipe)} is not the name of the app's store now, {name!r}")
    if wipe is None and not _is_test_store(current):
        raise ConfigError(
            f"app.testing.reset() would delete everything in {name!r}, which may be more than a "
            "test's: use it inside `with app.testing.override(...):` on another database, or "
            f"confirm with reset(wipe={name!r})"
        )


def _is_test_store(current: CurrentSetup) -> bool:
    if isinstance(current.now.runtime.store, MemoryStore):
        return True  # nothing in it outlives this process
    if not current.overridden or current.now.store_url is None:
        return False
    return _name(current.now) != _name(current.own)


def _name(setup: Setup) -> str:
    """Return the name of a store's file or database; of a store without URL, its class."""
    url = setup.store_url
    if url is None or url.startswith("memory:"):
        return type(setup.runtime.store).__name__
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return os.path.basename(url)
    return unquote(parts.path).strip("/")
