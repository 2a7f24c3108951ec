"""Connecting to a PostgreSQL server by its URL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import BytesBinaryDumper

from duetime.errors import ConfigError
from duetime.model.store_url import is_well_formed, mask_password
from duetime.store.sql.postgres.pools import AsyncConnection, Connection
from duetime.store.sql.statements.pg_columns import BigintArray, UuidArray

C = TypeVar("C", Connection, AsyncConnection)

# Lets the operating system notice a peer that vanished, even while no statement is under way.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class Server:
    """A database by its URL. `name` is safe to show: it never contains the password."""

    def __init__(self, url: str, timeout: float, application_name: str) -> None:
        options = _read(url)
        if options is None:
            # Outside the driver's exception: its message may repeat the password.
            raise ConfigError(
                f"the database URL {mask_password(url)!r} cannot be read: write "
                "postgresql://user:password@host:5432/name and percent-encode special characters "
                "in the password"
            )
        defaults: dict[str, str | int | None] = {
            "connect_timeout": max(2, math.ceil(timeout)),
            "application_name": application_name,
            # The database's own encoding may be SQL_ASCII, which means none.
            "client_encoding": "utf8",
            **KEEPALIVES,
        }
        self._conninfo = make_conninfo("", **{**defaults, **options})
        self.name = _display_name(options)

    def connect(self) -> Connection:
        connection = psycopg.Connection.connect(
            self._conninfo, autocommit=True, prepare_threshold=None
        )
        return with_array_dumpers(connection)

    async def aconnect(self) -> AsyncConnection:
        connection = await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, prepare_threshold=None
        )
        return with_array_dumpers(connection)


def with_array_dumpers(connection: C) -> C:
    """Register the dumpers of our binary arrays, and return the connection."""
    connection.adapters.register_dumper(UuidArray, UuidsDumper)
    connection.adapters.register_dumper(BigintArray, BigintsDumper)
    return connection


class UuidsDumper(BytesBinaryDumper):
    oid = UuidArray.oid


class BigintsDumper(BytesBinaryDumper):
    oid = BigintArray.oid


def _read(url: str) -> dict[str, Any] | None:
    """Return the options of a URL; None if it cannot be read. The driver sees no URL of which
    another part than the password may hold the password's end: its errors repeat hosts and
    ports."""
    if "://" in url and not is_well_formed(url):
        return None
    try:
        return conninfo_to_dict(_without_driver(url))
    except psycopg.ProgrammingError:
        return None


def _without_driver(url: str) -> str:
    """Return the URL without SQLAlchemy's driver name (`postgresql+psycopg://`)."""
    scheme, colon, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}{colon}{rest}"


def _display_name(options: Mapping[str, object]) -> str:
    host = options.get("host") or options.get("hostaddr") or "the local socket"
    port = options.get("port") or 5432
    database = options.get("dbname") or "of the user's name"
    return f"PostgreSQL database {database} at {host}:{port}"
