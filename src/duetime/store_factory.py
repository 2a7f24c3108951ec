"""Builds the store that a URL names. A driver is imported only when its URL is used."""

from __future__ import annotations

from duetime.config import Settings
from duetime.errors import ConfigError, did_you_mean, shown
from duetime.model.clock import Clock, SettableClock
from duetime.model.store_url import STORE_SCHEMES, mask_password, plain_url
from duetime.store.base import Store

SCHEMES = [scheme for schemes in STORE_SCHEMES.values() for scheme in schemes]


def open_store(settings: Settings, clock: Clock) -> Store:
    """Return the store of these settings; it has opened no connection yet."""
    if not isinstance(clock, Clock):
        raise ConfigError(
            f"clock={shown(clock)} is not a clock: give an object whose now() returns an aware "
            "datetime, such as duetime.testing.FakeClock"
        )
    url = plain_url(settings.url)
    if url is None:
        raise ConfigError(
            f"url {mask_password(settings.url)!r} names no store{_nearest(settings.url)}; give "
            "memory://, sqlite:///file.db, sqlite:////absolute/file.db or postgresql://host/db"
        )
    fake = clock if isinstance(clock, SettableClock) else None
    if url.startswith("memory:"):
        return _memory(clock)
    if url.startswith("sqlite:"):
        return _sqlite(url, settings, fake)
    return _postgres(url, settings, fake)


def _nearest(url: str) -> str:
    scheme, found, _ = url.partition("://")
    if not found:
        return did_you_mean(url, ["memory://"])
    store, plus, _ = scheme.partition("+")
    if plus and store in STORE_SCHEMES:
        known = ", ".join(f"{name}://" for name in STORE_SCHEMES[store])
        return f": of that database these are understood: {known}"
    return did_you_mean(scheme, SCHEMES)


def _memory(clock: Clock) -> Store:
    from duetime.store.memory.store import MemoryStore

    return MemoryStore(clock=clock)


def _sqlite(url: str, settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.sqlite.store import SqliteStore

    path, place = url.removeprefix("sqlite://"), mask_password(settings.url)
    if "?" in path:
        raise ConfigError(
            f"url {place!r} has options after '?', which SQLite stores do not take: "
            "write sqlite:///file.db, and give settings as arguments or DUETIME_<NAME>"
        )
    if not path.startswith("/") or path in ("/", "/:memory:"):
        raise ConfigError(
            f"url {place!r} names no file: write sqlite:///file.db (relative) or "
            "sqlite:////absolute/file.db; for a store without a file write memory://"
        )
    if settings.schema is not None:
        raise ConfigError(
            f"schema={settings.schema!r} does not fit url {place!r}: "
            "SQLite has no schemas; use prefix= to keep stores in one file apart"
        )
    return SqliteStore(
        path[1:],
        prefix=settings.prefix,
        migrate=settings.migrate,
        clock=clock,
        timeout=settings.timeout,
    )


def _postgres(url: str, settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.postgres.store import PostgresStore

    return PostgresStore(
        url,
        schema=settings.schema,
        prefix=settings.prefix,
        migrate=settings.migrate,
        clock=clock,
        timeout=settings.timeout,
        listen=settings.listen,
        pool_size=settings.pool_size,
        notify_within=2 * max(settings.poll, settings.sweep),
    )
