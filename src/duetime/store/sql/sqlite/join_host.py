"""Lets a SQLite store join a caller's transaction.

All statements, migrations too, run on the caller's connection: it may hold the write lock, for
which a connection of ours would wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from duetime.model.clock import Clock, to_micros
from duetime.store.flow import Wake
from duetime.store.sql import migrate as migrations
from duetime.store.sql.drivers import Command, Driven, statements
from duetime.store.sql.joining.base import Caller, Step, TransactionMode, wrong_database_error
from duetime.store.sql.joining.joined import JoinHost, atomic_steps
from duetime.store.sql.sqlite.errors import is_missing
from duetime.store.sql.sqlite.open_file import MISSING, database_lost
from duetime.store.sql.statements.loader import Migration, ParamStyle, StatementLoader

DATABASES = Command("PRAGMA database_list")


class SqliteHost(JoinHost):
    """The SQLite side of joining.

    `ready` returns whether our tables are known to exist; `refuse` raises if migrations are
    missing and may not be applied; `check_file` raises if our file is not at its path any more.
    """

    plan_settings = final_plan_settings = None

    def __init__(
        self,
        path: str,
        loader: StatementLoader,
        clock: Clock,
        *,
        ready: Callable[[], bool],
        refuse: Callable[[Sequence[Migration]], None],
        check_file: Callable[[], None],
        wake: Callable[[Sequence[Wake]], None],
    ) -> None:
        self._path = path
        self._loader = loader
        self._clock = clock
        self._ready = ready
        self._refuse = refuse
        self._check_file = check_file
        self.wake = wake

    async def ready_to_join(self) -> None:
        self.ready_to_join_blocking()

    def ready_to_join_blocking(self) -> None:
        """Check that our file is in its place: the caller's connection would create another one, or
        go on with the former one. `admit` creates missing tables on the caller's connection."""
        self._check_file()

    def admit(self, caller: Caller) -> Driven[Step, None]:
        if caller.dialect != "sqlite":
            raise wrong_database_error("PostgreSQL", self._path)
        listed = cast("Any", (yield DATABASES))
        file = next(file for _, name, file in listed if name == "main")
        if not _is_same(file, self._path):
            raise wrong_database_error(file or "a database in memory", self._path)
        if is_missing(self._path):
            raise database_lost(self._path, MISSING)
        if not self._ready():
            yield from self._prepare(caller)

    def _prepare(self, caller: Caller) -> Driven[Step, None]:
        """Create missing tables, inside the caller's transaction if one is open: a rollback removes
        them again. No transaction of the caller's is begun for this, since a read would leave it
        open."""
        missing, _ = yield from statements(migrations.pending(self._loader).start())
        self._refuse(missing)
        if missing:
            is_open = caller.transaction_mode() is TransactionMode.open
            standing = TransactionMode.open if is_open else TransactionMode.autocommit
            yield from atomic_steps(migrations.apply(self._loader), standing, caller.dialect)

    def loader_for(self, style: ParamStyle) -> StatementLoader:
        return self._loader.for_caller(style)

    def now_for_callers(self) -> int:
        return to_micros(self._clock.now())

    def notice(self, wakes: Sequence[Wake]) -> None:
        """Do nothing: listeners watch the file."""


def _is_same(file: str, path: str) -> bool:
    try:
        return os.path.samefile(file, path)
    except OSError:
        return bool(file) and os.path.realpath(file) == os.path.realpath(path)
