"""Where the PostgreSQL server is, and how to connect to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format

from duetime.errors import ConfigError
from duetime.store.sql.postgres.pools import AsyncConnection, Connection
from duetime.store.sql.statements.pg_columns import Bigints, Binary, Uuids

C = TypeVar("C", Connection, AsyncConnection)

# A peer that vanished without a word is noticed by the system, also while nobody asks it.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class Server:
    """A database by its URL. `name` is fit to be shown: it never holds the password."""

    def __init__(self, url: str, timeout: float, application_name: str) -> None:
        try:
            given = conninfo_to_dict(_plain(url))
        except psycopg.ProgrammingError:
            # The driver's words may repeat the URL, and the password in it.
            raise ConfigError(
                "the database URL cannot be read: write postgresql://user:password@host:5432/name "
                "and percent-encode special characters in the password"
            ) from None
        defaults: dict[str, str | int | None] = {
            "connect_timeout": max(2, math.ceil(timeout)),
            "application_name": application_name,
            # What the database's own says may be nothing at all (SQL_ASCII).
            "client_encoding": "utf8",
            **KEEPALIVES,
        }
        self._conninfo = make_conninfo("", **{**defaults, **given})
        self.name = _name(given)

    def connect(self) -> Connection:
        connection = psycopg.Connection.connect(
            self._conninfo, autocommit=True, prepare_threshold=None
        )
        return taught(connection)

    async def aconnect(self) -> AsyncConnection:
        connection = await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, prepare_threshold=None
        )
        return taught(connection)


def taught(connection: C) -> C:
    """It knows our arrays now."""
    connection.adapters.register_dumper(Uuids, UuidsDumper)
    connection.adapters.register_dumper(Bigints, BigintsDumper)
    return connection


class BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Binary) -> Binary:
        return obj


class UuidsDumper(BinaryDumper):
    oid = Uuids.oid


class BigintsDumper(BinaryDumper):
    oid = Bigints.oid


def _plain(url: str) -> str:
    """SQLAlchemy's way to name a driver is understood, and dropped."""
    scheme, colon, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}{colon}{rest}"


def _name(given: Mapping[str, object]) -> str:
    host = given.get("host") or given.get("hostaddr") or "the local socket"
    port = given.get("port") or 5432
    database = given.get("dbname") or "of the user's name"
    return f"PostgreSQL database {database} at {host}:{port}"
