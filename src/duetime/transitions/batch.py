"""What a sweep works on, and what came of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, Executable
from sqlalchemy.orm import Session

from duetime.events.types import TransitionApplied
from duetime.model.actions.retry import Retry
from duetime.model.tenant import SYSTEM
from duetime.model.transition import RowError
from duetime.transitions.target import Target
from duetime.transitions.timestamps import as_utc
from duetime.transitions.writes import Statements

# Called in the transaction: the payloads to schedule in it, and, if anybody wants them, events of
# what it will have changed.
WriteAlong = Callable[[Session, Sequence[object], Sequence[TransitionApplied]], None]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row whose time has come. `place` is where it stands in the order of due rows."""

    key: tuple[Any, ...]
    due_at: datetime
    text: str
    place: tuple[Any, ...]

    @property
    def id(self) -> object:
        """The key, as users know it."""
        return self.key[0] if len(self.key) == 1 else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One batch of one target."""

    statements: Statements
    # None: the database's own clock counts.
    now: datetime | None
    batch: int
    bulk: bool
    retry: Retry
    chance: Callable[[], float]
    log: logging.Logger
    write_along: WriteAlong
    # Whether anybody listens: to events; to anything that tells of each row.
    telling: bool
    heard: bool
    # Of a backlog: behind which row to go on, and the time at which it was seen.
    cursor: tuple[Any, ...] | None = None
    since: datetime | None = None
    # Whether the ledger has known rows of it that are due.
    known: bool = False

    @property
    def target(self) -> Target:
        return self.statements.target

    @property
    def sets_many(self) -> bool:
        """By statements for many rows; an action needs its row, and one that is spread over
        several tables is removed by the ORM, from all of them."""
        spread = self.target.declared.hard_delete and self.target.is_spread
        return self.bulk and self.target.declared.action is None and not spread

    @property
    def at_once(self) -> bool:
        """By one statement for a batch."""
        return self.sets_many and self.statements.on_postgres

    @property
    def unasked(self) -> bool:
        """Whether the ledger is not asked before rows of a backlog are locked: one that knows none
        of them is asked in vain. What happens once goes by nothing else."""
        plain = self.at_once and not self.heard and not self.target.once
        return plain and self.since is not None and not self.known and not self.statements.parked

    @property
    def place(self) -> dict[str, Any]:
        """Of the row behind which to go on, as parameters."""
        return {f"duetime_place_{n}": value for n, value in enumerate(self.cursor or ())}

    def run(self, session: Session, statement: Executable, **params: Any) -> list[Any]:
        """All rows that it gives, if it gives any."""
        bound = {"mapper": self.target.mapper}
        result = session.execute(statement, params, bind_arguments=bound)
        without = isinstance(result, CursorResult) and not result.returns_rows
        return [] if without else list(result.all())

    def row_of(self, found: Any) -> Row:
        """Of what any statement found that takes rows: all of them give it the same labels."""
        key = tuple(getattr(found, name) for name in self.statements.key_labels)
        due: datetime = found.duetime_due
        return Row(key, as_utc(due), found.duetime_key, (due, *key))

    def write(self, session: Session, rows: Sequence[Row], payloads: Sequence[object]) -> None:
        """What is part of the transaction besides the rows."""
        events = [self.event(row) for row in rows] if self.telling else []
        if payloads or events:
            self.write_along(session, payloads, events)

    def event(self, row: Row) -> TransitionApplied:
        target = self.target
        return TransitionApplied(
            tenant=None,
            by=SYSTEM,
            model=target.model,
            table=self.statements.table_name,
            id=row.id,
            column=target.attribute(target.column),
            due_at=row.due_at,
            effect=target.declared.effect.value,
            field=target.declared.set_field,
            to=target.to,
        )


@dataclass(slots=True, kw_only=True)
class Batch:
    """What came of it: of the rows that were `taken`, `count` were changed, all told of in
    `changed` if anybody listens. `next_due` is the next instant at which there is something to
    do."""

    now: datetime
    count: int = 0
    taken: int = 0
    changed: list[Row] = field(default_factory=list)
    errors: list[RowError] = field(default_factory=list)
    skipped: int = 0
    truncated: bool = False
    cursor: tuple[Any, ...] | None = None
    next_due: datetime | None = None
    # Why the rest of it was left, after a part was committed.
    fault: Exception | None = None

    @property
    def whole(self) -> bool:
        """Whether all that was taken was changed."""
        return self.count == self.taken

    def add(self, other: Batch) -> None:
        self.count += other.count
        self.taken += other.taken
        self.changed += other.changed
        self.errors += other.errors
        self.cursor = other.cursor or self.cursor
        self.fault = self.fault or other.fault
        self.skipped += other.skipped
        self.truncated = other.truncated


def keys_of(rows: Iterable[Row]) -> list[Any]:
    """As a statement's parameter takes them."""
    return [row.id for row in rows]
