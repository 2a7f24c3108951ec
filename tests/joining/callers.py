"""Callers: every library whose transaction can be joined, each behind the same few verbs."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import psycopg
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from duetime import Duetime

NOTES = "CREATE TABLE IF NOT EXISTS notes (body text)"
INSERT = "INSERT INTO notes (body) VALUES ('mine')"
COUNT = "SELECT count(*) FROM notes"


class Caller(ABC):
    """A user of the store's database with a connection and a transaction of their own."""

    blocking = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection: Any = None

    async def call(self, app: Duetime, verb: str, *args: Any, **named: Any) -> Any:
        """Call a verb of the app in this caller's transaction."""
        if self.blocking:
            return attrgetter(verb)(app.sync)(*args, connection=self.connection, **named)
        return await attrgetter(verb)(app)(*args, connection=self.connection, **named)

    @abstractmethod
    async def begin(self, *, autocommit: bool = False) -> None: ...

    @abstractmethod
    async def execute(self, sql: str) -> Any:
        """Return the first value of the result, if there is one."""

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...


class BlockingCaller(Caller):
    """The names that most libraries use for commit, rollback and close."""

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def close(self) -> None:
        self.connection.close()


class AwaitedCaller(Caller):
    blocking = False

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def close(self) -> None:
        await self.connection.close()


class DbapiCaller(BlockingCaller):
    async def execute(self, sql: str) -> Any:
        cursor = self.connection.execute(sql)
        return cursor.fetchone()[0] if cursor.description else None


class AlchemyCaller(BlockingCaller):
    driver = ""

    async def begin(self, *, autocommit: bool = False) -> None:
        options: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        self.engine = create_engine(_with_driver(self.url, self.driver), **options)
        self.connection = self._open()

    def _open(self) -> Session | Connection:
        return self.engine.connect()

    async def execute(self, sql: str) -> Any:
        result = self.connection.execute(text(sql))
        return result.scalar() if result.returns_rows else None

    async def close(self) -> None:
        await super().close()
        self.engine.dispose()


class SessionCaller(AlchemyCaller):
    def _open(self) -> Session:
        return Session(self.engine)


class AsyncAlchemyCaller(AwaitedCaller):
    driver = ""

    async def begin(self, *, autocommit: bool = False) -> None:
        options: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        self.engine = create_async_engine(_with_driver(self.url, self.driver), **options)
        self.connection = await self._open()

    async def _open(self) -> AsyncSession | AsyncConnection:
        return await self.engine.connect()

    async def execute(self, sql: str) -> Any:
        result = await self.connection.execute(text(sql))
        return result.scalar() if result.returns_rows else None

    async def close(self) -> None:
        await super().close()
        await self.engine.dispose()


class AsyncSessionCaller(AsyncAlchemyCaller):
    async def _open(self) -> AsyncSession:
        return AsyncSession(self.engine)


class PsycopgCaller(DbapiCaller):
    async def begin(self, *, autocommit: bool = False) -> None:
        self.connection = psycopg.connect(self.url, autocommit=autocommit)


class AsyncPsycopgCaller(AwaitedCaller):
    async def begin(self, *, autocommit: bool = False) -> None:
        self.connection = await psycopg.AsyncConnection.connect(self.url, autocommit=autocommit)

    async def execute(self, sql: str) -> Any:
        cursor = await self.connection.execute(sql)
        return (await cursor.fetchone())[0] if cursor.description else None


class AsyncpgCaller(AwaitedCaller):
    async def begin(self, *, autocommit: bool = False) -> None:
        self.connection = await asyncpg.connect(self.url)
        self.transaction = None if autocommit else self.connection.transaction()
        if self.transaction:
            await self.transaction.start()

    async def execute(self, sql: str) -> Any:
        return await self.connection.fetchval(sql)

    async def commit(self) -> None:
        if self.transaction:
            await self.transaction.commit()

    async def rollback(self) -> None:
        if self.transaction:
            await self.transaction.rollback()


class Sqlite3Caller(DbapiCaller):
    async def begin(self, *, autocommit: bool = False) -> None:
        path = self.url.removeprefix("sqlite:///")
        self.connection = sqlite3.connect(path, timeout=2)
        if autocommit:
            self.connection.isolation_level = None


class DjangoCaller(BlockingCaller):
    """Its transaction is the open block of `atomic`."""

    async def begin(self, *, autocommit: bool = False) -> None:
        from django.db import transaction

        alias = django_alias(self.url)
        from django.db import connections

        self.connection = connections[alias]
        self.atomic = None if autocommit else transaction.atomic(using=alias)
        if self.atomic:
            self.atomic.__enter__()

    async def execute(self, sql: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0] if cursor.description else None

    async def commit(self) -> None:
        if self.atomic:
            self.atomic.__exit__(None, None, None)

    async def rollback(self) -> None:
        if self.atomic:
            self.connection.set_rollback(True)
            self.atomic.__exit__(None, None, None)


def django_alias(url: str) -> str:
    """Register a Django database under a new alias and return the alias."""
    import django
    from django.conf import settings
    from django.db import connections

    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.dummy"}})
        django.setup()
    alias = uuid4().hex
    database: dict[str, Any]
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": Path(path)}
    else:
        found = psycopg.conninfo.conninfo_to_dict(url)
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": found["dbname"],
            "HOST": found["host"],
            "PORT": found["port"],
            "USER": found.get("user", ""),
            "PASSWORD": found.get("password", ""),
        }
    connections.settings[alias] = connections.configure_settings({"default": database})["default"]
    return alias


def _with_driver(url: str, driver: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}+{driver}://{rest}" if driver else url


def _driven(base: type[Any], driver: str) -> type[Caller]:
    return type(f"{base.__name__}_{driver}", (base,), {"driver": driver})


ON_POSTGRES: dict[str, type[Caller]] = {
    "Session-psycopg": _driven(SessionCaller, "psycopg"),
    "Session-psycopg2": _driven(SessionCaller, "psycopg2"),
    "AsyncSession-psycopg": _driven(AsyncSessionCaller, "psycopg"),
    "AsyncSession-asyncpg": _driven(AsyncSessionCaller, "asyncpg"),
    "Connection-psycopg": _driven(AlchemyCaller, "psycopg"),
    "Connection-psycopg2": _driven(AlchemyCaller, "psycopg2"),
    "AsyncConnection-psycopg": _driven(AsyncAlchemyCaller, "psycopg"),
    "AsyncConnection-asyncpg": _driven(AsyncAlchemyCaller, "asyncpg"),
    "psycopg": PsycopgCaller,
    "async-psycopg": AsyncPsycopgCaller,
    "asyncpg": AsyncpgCaller,
    "django-postgres": DjangoCaller,
}
ON_SQLITE: dict[str, type[Caller]] = {
    "Session-sqlite": _driven(SessionCaller, "pysqlite"),
    "AsyncSession-aiosqlite": _driven(AsyncSessionCaller, "aiosqlite"),
    "Connection-sqlite": _driven(AlchemyCaller, "pysqlite"),
    "AsyncConnection-aiosqlite": _driven(AsyncAlchemyCaller, "aiosqlite"),
    "sqlite3": Sqlite3Caller,
    "django-sqlite": DjangoCaller,
}
CALLERS = ON_POSTGRES | ON_SQLITE
# Callers whose library calls back after a commit.
REPORTS_COMMITS = [name for name in CALLERS if "Session" in name or "django" in name]
