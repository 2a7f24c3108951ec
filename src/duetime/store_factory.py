"""Builds the store that a URL names. A driver is imported only when its URL is used."""

from __future__ import annotations

from duetime.config import Settings
from duetime.errors import ConfigError, did_you_mean, shown
from duetime.model.clock import Clock, SettableClock
from duetime.model.store_url import mask_password
from duetime.store.base import Store

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
SCHEMES = ("memory", "sqlite", *POSTGRES)


def open_store(settings: Settings, clock: Clock) -> Store:
    """Return the store of these settings; it has opened no connection yet."""
    if not isinstance(clock, Clock):
        raise ConfigError(
            f"clock={shown(clock)} is not a clock: give an object whose now() returns an aware "
            "datetime, such as duetime.testing.FakeClock"
        )
    scheme, found, _ = settings.url.partition("://")
    if not found or scheme not in SCHEMES:
        raise ConfigError(
            f"url {mask_password(settings.url)!r} names no store{_nearest(settings.url)}; give "
            "memory://, sqlite:///file.db, sqlite:////absolute/file.db or postgresql://host/db"
        )
    fake = clock if isinstance(clock, SettableClock) else None
    if scheme == "memory":
        return _memory(clock)
    return _sqlite(settings, fake) if scheme == "sqlite" else _postgres(settings, fake)


def _nearest(url: str) -> str:
    scheme, found, _ = url.partition("://")
    return did_you_mean(scheme, SCHEMES) if found else did_you_mean(url, ["memory://"])


def _memory(clock: Clock) -> Store:
    from duetime.store.memory.store import MemoryStore

    return MemoryStore(clock=clock)


def _sqlite(settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.sqlite.store import SqliteStore

    path, place = settings.url.removeprefix("sqlite://"), mask_password(settings.url)
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


def _postgres(settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.postgres.store import PostgresStore

    return PostgresStore(
        "postgresql://" + settings.url.partition("://")[2],
        schema=settings.schema,
        prefix=settings.prefix,
        migrate=settings.migrate,
        clock=clock,
        timeout=settings.timeout,
        listen=settings.listen,
        pool_size=settings.pool_size,
        notify_within=2 * max(settings.poll, settings.sweep),
    )
