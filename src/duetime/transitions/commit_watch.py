"""Engines of SQLAlchemy, which may be others in disguise.

Watching an engine: whoever commits a change of a table, in this process, wakes the runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, Engine, event


def origin(engine: Engine) -> Engine:
    """One with options of its own sends all through the one that it comes from."""
    while (parent := getattr(engine, "_proxied", None)) is not None:
        engine = parent
    return engine


# A connection that nobody uses or gives back after its commit tells nothing more; by then it has
# committed.
SETTLED = (0.02, 0.2)


class Watch:
    """SQLAlchemy tells of a commit just before it: it has happened when the connection begins
    anew, or is given back to its pool."""

    def __init__(self, engine: Engine, tables: Iterable[str], changed: Callable[[], None]) -> None:
        self._tables = list(tables)
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        engine = origin(engine)
        self._hooks: list[tuple[Any, str, Callable[..., None]]] = [
            (engine, "after_cursor_execute", self._executed),
            (engine, "commit", self._committing),
            (engine, "begin", self._begun),
            (engine, "rollback", self._rolled_back),
            (engine.pool, "checkin", self._given_back),
        ]

    def start(self) -> None:
        for owner, name, call in self._hooks:
            event.listen(owner, name, call)

    def stop(self) -> None:
        for owner, name, call in self._hooks:
            event.remove(owner, name, call)

    def _executed(
        self,
        connection: Connection,
        cursor: object,
        statement: str,
        parameters: object,
        context: object,
        executemany: bool,
    ) -> None:
        if statement.startswith("SELECT") or not any(one in statement for one in self._tables):
            return
        if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            self.wake()
        else:
            connection.info[self] = False

    def _committing(self, connection: Connection) -> None:
        info = connection.info
        if self in info:
            info[self] = True
            self._call(lambda: self._settle(info))

    def _settle(self, info: dict[Any, Any]) -> None:
        for pause in SETTLED:
            self._loop.call_later(pause, lambda: self._changed() if self in info else None)

    def _begun(self, connection: Connection) -> None:
        if connection.info.get(self):
            del connection.info[self]
            self.wake()

    def _rolled_back(self, connection: Connection) -> None:
        connection.info.pop(self, None)

    def _given_back(self, connection: object, record: Any) -> None:
        if record.info.pop(self, None) is not None:
            self.wake()

    def wake(self) -> None:
        """From any thread."""
        self._call(self._changed)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)
