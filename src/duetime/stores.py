"""Which store a URL names. Drivers are imported only when their URL is used."""

from __future__ import annotations

import re

from duetime.config import Settings
from duetime.errors import ConfigError, did_you_mean
from duetime.model.clock import Clock, SettableClock
from duetime.store.base import Store

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
SCHEMES = ("memory", "sqlite", *POSTGRES)

# From `://user:` to the last `@`, also where it should have been escaped; or by name.
PASSWORD = re.compile(r"(://[^:/?#@]*:).*(?=@)|([?&]password=)[^&#]*")


def open_store(settings: Settings, clock: Clock) -> Store:
    """A store that has opened nothing yet."""
    scheme, found, _ = settings.url.partition("://")
    if not found or scheme not in SCHEMES:
        raise ConfigError(
            f"url {masked(settings.url)!r} names no store{did_you_mean(scheme, SCHEMES)}; give "
            "memory://, sqlite:///file.db, sqlite:////absolute/file.db or postgresql://host/db"
        )
    fake = clock if isinstance(clock, SettableClock) else None
    if scheme == "memory":
        return _memory(clock)
    return _sqlite(settings, fake) if scheme == "sqlite" else _postgres(settings, fake)


def _memory(clock: Clock) -> Store:
    from duetime.store.memory import MemoryStore

    return MemoryStore(clock=clock)


def _sqlite(settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.sqlite import SqliteStore

    path = settings.url.removeprefix("sqlite://")
    if "?" in path:
        raise ConfigError(
            f"url {settings.url!r} has options after '?', which SQLite stores do not take: "
            "write sqlite:///file.db, and give settings as arguments or DUETIME_<NAME>"
        )
    if not path.startswith("/") or path in ("/", "/:memory:"):
        raise ConfigError(
            f"url {settings.url!r} names no file: write sqlite:///file.db (relative) or "
            "sqlite:////absolute/file.db; for a store without a file write memory://"
        )
    return SqliteStore(
        path[1:],
        prefix=settings.prefix,
        migrate=settings.migrate,
        clock=clock,
        timeout=settings.timeout,
    )


def _postgres(settings: Settings, clock: SettableClock | None) -> Store:
    from duetime.store.sql.postgres import PostgresStore

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


def masked(url: str) -> str:
    """A URL as it may stand in a message or a log: without its password."""
    return PASSWORD.sub(r"\1\2***", url)
