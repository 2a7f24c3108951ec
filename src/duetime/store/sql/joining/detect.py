"""Detects which library a connection comes from.

No library is imported for this: a caller that passes a connection has imported its library."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

from duetime.errors import ConfigError, shown
from duetime.store.sql.joining.base import Caller
from duetime.store.sql.joining.sqlite3 import Sqlite3Caller


def detect_caller(connection: object) -> Caller:
    """Return the caller for this connection. Raises ConfigError for an unknown library."""
    for detect in (_sqlalchemy, _psycopg, _asyncpg, _django, _sqlite3):
        caller = detect(connection)
        if caller is not None:
            return caller
    raise ConfigError(
        f"connection={shown(connection)} does not come from a library that duetime can join: "
        "pass a SQLAlchemy Session, AsyncSession, Connection or AsyncConnection, a Django "
        "connection, or a connection of psycopg 3, asyncpg or sqlite3"
    )


def _sqlalchemy(connection: Any) -> Caller | None:
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    from duetime.store.sql.joining.sqlalchemy import AlchemyCaller, AsyncAlchemyCaller

    if isinstance(connection, scoped_session | async_scoped_session):
        connection = connection()
    if isinstance(connection, AsyncSession | AsyncConnection):
        return AsyncAlchemyCaller(connection)
    return AlchemyCaller(connection) if isinstance(connection, Session | Connection) else None


def _psycopg(connection: object) -> Caller | None:
    if "psycopg" not in sys.modules:
        return None
    import psycopg

    from duetime.store.sql.joining.psycopg import AsyncPsycopgCaller, PsycopgCaller

    if isinstance(connection, psycopg.AsyncConnection):
        return AsyncPsycopgCaller(connection)
    return PsycopgCaller(connection) if isinstance(connection, psycopg.Connection) else None


def _asyncpg(connection: object) -> Caller | None:
    if "asyncpg" not in sys.modules:
        return None
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    from duetime.store.sql.joining.asyncpg import AsyncpgCaller

    matches = isinstance(connection, asyncpg.Connection | PoolConnectionProxy)
    return AsyncpgCaller(connection) if matches else None


def _django(connection: object) -> Caller | None:
    if "django.db" not in sys.modules:
        return None
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.utils.connection import ConnectionProxy

    from duetime.store.sql.joining.django import DjangoCaller

    matches = isinstance(connection, BaseDatabaseWrapper | ConnectionProxy)
    return DjangoCaller(connection) if matches else None


def _sqlite3(connection: object) -> Caller | None:
    return Sqlite3Caller(connection) if isinstance(connection, sqlite3.Connection) else None
