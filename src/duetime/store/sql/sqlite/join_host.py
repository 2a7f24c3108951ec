"""How a SQLite store takes part in a caller's transaction: all of it happens on the caller's
connection, since that may hold the lock that one of ours would wait for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from duetime.model.clock import Clock, to_micros
from duetime.store.flow import Wake
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import Command, Driven, statements
from duetime.store.sql.joining.base import Caller, Standing, Step, another_database
from duetime.store.sql.joining.joined import Host, bracketed
from duetime.store.sql.statements.loader import Loader, Migration, Style

DATABASES = Command("PRAGMA database_list")


class SqliteHost(Host):
    """`ready` tells whether our tables are known to be there; `refuse` raises if any of these
    migrations are missing and may not be made."""

    pins = last_pins = None

    def __init__(
        self,
        path: str,
        loader: Loader,
        clock: Clock,
        *,
        ready: Callable[[], bool],
        refuse: Callable[[Sequence[Migration]], None],
        wake: Callable[[Sequence[Wake]], None],
    ) -> None:
        self._path = path
        self._loader = loader
        self._clock = clock
        self._ready = ready
        self._refuse = refuse
        self.wake = wake

    async def ready_to_join(self) -> None:
        """Whatever is missing is made on the caller's connection."""

    def ready_to_join_blocking(self) -> None:
        """The same."""

    def admit(self, caller: Caller) -> Driven[Step, None]:
        if caller.dialect != "sqlite":
            raise another_database("PostgreSQL", self._path)
        listed = cast("Any", (yield DATABASES))
        file = next(file for _, name, file in listed if name == "main")
        if not _is_same(file, self._path):
            raise another_database(file or "a database in memory", self._path)
        if not self._ready():
            yield from self._prepare(caller)

    def _prepare(self, caller: Caller) -> Driven[Step, None]:
        """Part of the caller's transaction if one is open: rolled back, they are missing again.
        None is begun for them, since a read would leave it open."""
        missing, _ = yield from statements(migrations.pending(self._loader).start())
        self._refuse(missing)
        if missing:
            is_open = caller.standing() is Standing.open
            standing = Standing.open if is_open else Standing.alone
            yield from bracketed(migrations.apply(self._loader), standing, caller.dialect)

    def loader_for(self, style: Style) -> Loader:
        return self._loader.for_caller(style)

    def now_for_callers(self) -> int:
        return to_micros(self._clock.now())

    def notice(self, wakes: Sequence[Wake]) -> None:
        """Whoever listens watches the file."""


def _is_same(file: str, path: str) -> bool:
    try:
        return os.path.samefile(file, path)
    except OSError:
        return bool(file) and os.path.realpath(file) == os.path.realpath(path)
