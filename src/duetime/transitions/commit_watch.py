"""Watch an engine for commits, so that a change of a swept table in this process wakes the
runner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, Engine, event

# A connection that is neither used again nor returned after its commit raises no further event; by
# these delays it has committed.
COMMIT_CHECK_DELAYS_SECONDS = (0.02, 0.2)


class CommitWatch:
    """Calls `on_change` after a commit that changed one of the tables.

    SQLAlchemy's commit event comes just before the commit. The commit is over when the connection
    begins again, or is returned to its pool.
    """

    def __init__(
        self, engine: Engine, tables: Iterable[str], on_change: Callable[[], None]
    ) -> None:
        self._tables = list(tables)
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        engine = root_engine(engine)
        self._listeners: list[tuple[Any, str, Callable[..., None]]] = [
            (engine, "after_cursor_execute", self._on_execute),
            (engine, "commit", self._on_commit),
            (engine, "begin", self._on_begin),
            (engine, "rollback", self._on_rollback),
            (engine.pool, "checkin", self._on_checkin),
        ]

    def start(self) -> None:
        for owner, name, listener in self._listeners:
            event.listen(owner, name, listener)

    def stop(self) -> None:
        for owner, name, listener in self._listeners:
            event.remove(owner, name, listener)

    def _on_execute(
        self,
        connection: Connection,
        cursor: object,
        statement: str,
        parameters: object,
        context: object,
        executemany: bool,
    ) -> None:
        if statement.startswith("SELECT") or not any(name in statement for name in self._tables):
            return
        if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            self.wake()
        else:
            connection.info[self] = False

    def _on_commit(self, connection: Connection) -> None:
        info = connection.info
        if self in info:
            info[self] = True
            self._call(lambda: self._check_later(info))

    def _check_later(self, info: dict[Any, Any]) -> None:
        for delay in COMMIT_CHECK_DELAYS_SECONDS:
            self._loop.call_later(delay, lambda: self._on_change() if self in info else None)

    def _on_begin(self, connection: Connection) -> None:
        if connection.info.get(self):
            del connection.info[self]
            self.wake()

    def _on_rollback(self, connection: Connection) -> None:
        connection.info.pop(self, None)

    def _on_checkin(self, connection: object, record: Any) -> None:
        if record.info.pop(self, None) is not None:
            self.wake()

    def wake(self) -> None:
        """Call `on_change` in the event loop; may be called from any thread."""
        self._call(self._on_change)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)


def root_engine(engine: Engine) -> Engine:
    """Return the engine that executes and emits events: an engine with options of its own is a
    proxy for another."""
    while (parent := getattr(engine, "_proxied", None)) is not None:
        engine = parent
    return engine
