"""Watch an engine for commits, so that a change of rows with transitions wakes runners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, ExecutionContext, event

# Returns what a statement changed, by any names; empty for a statement that does not matter.
ChangesOf = Callable[[str, ExecutionContext], frozenset[str]]


class UncommittedChanges:
    """What the statements of a connection's open transaction changed."""

    __slots__ = ("at_savepoints", "changes", "committing")

    def __init__(self) -> None:
        self.changes: set[str] = set()
        # What had been changed when each open savepoint was set; SQLAlchemy reports no names.
        self.at_savepoints: list[set[str]] = []
        # SQLAlchemy has reported the commit, just before sending it.
        self.committing = False


class CommitWatch:
    """Calls `on_commit` after each commit with what its statements changed.

    SQLAlchemy's commit event comes just before the commit. The commit is over when the connection
    begins again, or is returned to its pool. A connection for which neither happens for long is
    left to `on_committing`, which gets a function that returns whether that is still so.
    """

    def __init__(
        self,
        engine: Engine,
        changes_of: ChangesOf,
        on_commit: Callable[[set[str]], None],
        on_committing: Callable[[Callable[[], bool]], None] | None = None,
    ) -> None:
        """The callbacks are called in whichever thread uses the connection."""
        self._changes_of = changes_of
        self._on_commit = on_commit
        self._on_committing = on_committing
        engine = root_engine(engine)
        self._listeners: list[tuple[Any, str, Callable[..., None]]] = [
            (engine, "after_cursor_execute", self._executed),
            (engine, "savepoint", self._set_savepoint),
            (engine, "rollback_savepoint", self._rolled_back_to),
            (engine, "release_savepoint", self._released),
            (engine, "commit", self._committing),
            (engine, "begin", self._begun),
            (engine, "rollback", self._rolled_back),
            (engine, "rollback_twophase", self._rolled_back),
            (engine.pool, "checkin", self._checked_in),
        ]

    def start(self) -> None:
        for owner, name, listener in self._listeners:
            event.listen(owner, name, listener)

    def stop(self) -> None:
        for owner, name, listener in self._listeners:
            event.remove(owner, name, listener)

    def _executed(
        self,
        connection: Connection,
        cursor: object,
        statement: str,
        parameters: object,
        context: ExecutionContext,
        executemany: bool,
    ) -> None:
        changes = self._changes_of(statement, context)
        if not changes:
            return
        if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            self._on_commit(set(changes))
        else:
            connection.info.setdefault(self, UncommittedChanges()).changes |= changes

    def _set_savepoint(self, connection: Connection, name: object) -> None:
        pending = connection.info.setdefault(self, UncommittedChanges())
        pending.at_savepoints.append(set(pending.changes))

    def _rolled_back_to(self, connection: Connection, name: object, context: None) -> None:
        pending: UncommittedChanges | None = connection.info.get(self)
        if pending is not None and pending.at_savepoints:
            pending.changes = pending.at_savepoints.pop()

    def _released(self, connection: Connection, name: object, context: None) -> None:
        pending: UncommittedChanges | None = connection.info.get(self)
        if pending is not None and pending.at_savepoints:
            pending.at_savepoints.pop()

    def _committing(self, connection: Connection) -> None:
        info = connection.info
        if self in info:
            info[self].committing = True
            if self._on_committing is not None and info[self].changes:
                self._on_committing(lambda: self in info)

    def _begun(self, connection: Connection) -> None:
        pending: UncommittedChanges | None = connection.info.get(self)
        if pending is not None and pending.committing:
            del connection.info[self]
            self._committed(pending)

    def _rolled_back(self, connection: Connection, *two_phases: object) -> None:
        connection.info.pop(self, None)

    def _checked_in(self, connection: object, record: Any) -> None:
        pending: UncommittedChanges | None = record.info.pop(self, None)
        if pending is not None:
            # Also if no commit was reported: the driver's own, or one of two phases.
            self._committed(pending)

    def _committed(self, pending: UncommittedChanges) -> None:
        if pending.changes:
            self._on_commit(pending.changes)


def root_engine(engine: Engine) -> Engine:
    """Return the engine that executes and emits events: an engine with options of its own is a
    proxy for another."""
    while (parent := getattr(engine, "_proxied", None)) is not None:
        engine = parent
    return engine
