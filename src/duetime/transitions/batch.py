"""A batch of due rows and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, Executable
from sqlalchemy.orm import Session

from duetime.events.types import TransitionApplied
from duetime.logs import Log
from duetime.model.actions.retry import Retry
from duetime.model.tenant import SYSTEM
from duetime.model.transition import RowError
from duetime.transitions.target import Target
from duetime.transitions.timestamps import as_utc
from duetime.transitions.writes import TargetStatements

# Called in the transaction that changes the rows: inserts actions for the payloads and, for durable
# subscribers, for the events.
InsertActions = Callable[[Session, Sequence[object], Sequence[TransitionApplied]], None]


@dataclass(frozen=True, slots=True, eq=False)
class DueRow:
    """A due row. `row_key` is its key as the ledger stores it, `position` its place in the order of
    due rows."""

    key: tuple[Any, ...]
    due_at: datetime
    row_key: str
    position: tuple[Any, ...]

    @property
    def id(self) -> object:
        """The primary key: a tuple only if it has several columns."""
        return self.key[0] if len(self.key) == 1 else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """A batch of one target: its statements, its limits, and how its rows are changed."""

    statements: TargetStatements
    # None: the database's own clock counts.
    now: datetime | None
    size: int
    bulk: bool
    retry: Retry
    chance: Callable[[], float]
    log: Log
    insert_actions: InsertActions
    # Called in the transaction in which a row is parked.
    row_parked: Callable[[Session, RowError], None]
    # Whether TransitionApplied has subscribers.
    emits_events: bool
    # Whether each changed row is reported, to a subscriber or to a hook.
    reports_rows: bool
    # Of a backlog: the row to continue after, and the time at which the backlog was seen.
    cursor: tuple[Any, ...] | None = None
    backlog_seen_at: datetime | None = None
    # Whether the ledger had entries for some due rows of the backlog.
    ledger_has_rows: bool = False

    @property
    def target(self) -> Target:
        return self.statements.target

    @property
    def uses_bulk(self) -> bool:
        """Whether one statement changes many rows. An action needs its row loaded, and the ORM
        hard-deletes a row that spans several tables from all of them."""
        spread = self.target.declared.hard_delete and self.target.spans_tables
        return self.bulk and self.target.declared.action is None and not spread

    @property
    def single_statement(self) -> bool:
        """Whether one statement finds, locks and changes the whole batch."""
        return self.uses_bulk and self.statements.on_postgres

    @property
    def skips_ledger_check(self) -> bool:
        """Whether rows of a backlog are locked without looking them up in the ledger, because it
        had no entry for any of them so far. A target that applies once depends on the look-up."""
        plain = self.single_statement and not self.reports_rows and not self.target.applies_once
        unknown = self.backlog_seen_at is not None and not self.ledger_has_rows
        return plain and unknown and not self.statements.parked

    @property
    def cursor_parameters(self) -> dict[str, Any]:
        """The position of the row to continue after, as statement parameters."""
        return {f"duetime_cursor_{n}": value for n, value in enumerate(self.cursor or ())}

    def run(self, session: Session, statement: Executable, **params: Any) -> list[Any]:
        """Execute a statement and return its rows; an empty list if it returns none."""
        bound = {"mapper": self.target.mapper}
        result = session.execute(statement, params, bind_arguments=bound)
        without = isinstance(result, CursorResult) and not result.returns_rows
        return [] if without else list(result.all())

    def row_of(self, record: Any) -> DueRow:
        """Return the due row in a result row of any statement that takes rows: all such statements
        use the same labels."""
        key = tuple(getattr(record, name) for name in self.statements.key_labels)
        due: datetime = record.duetime_due
        return DueRow(key, as_utc(due), record.duetime_key, (due, *key))

    def write_actions(
        self, session: Session, rows: Sequence[DueRow], payloads: Sequence[object]
    ) -> None:
        """Insert actions for the payloads, and for the events of these rows, in this
        transaction."""
        events = [self.event(row) for row in rows] if self.emits_events else []
        if payloads or events:
            self.insert_actions(session, payloads, events)

    def event(self, row: DueRow) -> TransitionApplied:
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
class BatchResult:
    """The result of a batch.

    `taken_count` rows were locked and `changed_count` of them changed; `changed_rows` lists these
    if they are reported. `next_due` is the next instant at which a row is due or retried.
    """

    now: datetime
    changed_count: int = 0
    taken_count: int = 0
    changed_rows: list[DueRow] = field(default_factory=list)
    errors: list[RowError] = field(default_factory=list)
    skipped: int = 0
    truncated: bool = False
    cursor: tuple[Any, ...] | None = None
    next_due: datetime | None = None
    # The error that stopped the batch after a part of it was committed.
    stopped_by: Exception | None = None

    @property
    def all_changed(self) -> bool:
        """Whether every row that was taken was changed."""
        return self.changed_count == self.taken_count

    def add(self, other: BatchResult) -> None:
        self.changed_count += other.changed_count
        self.taken_count += other.taken_count
        self.changed_rows += other.changed_rows
        self.errors += other.errors
        self.cursor = other.cursor or self.cursor
        self.stopped_by = self.stopped_by or other.stopped_by
        self.skipped += other.skipped
        self.truncated = other.truncated


def keys_of(rows: Iterable[DueRow]) -> list[Any]:
    """Return the primary keys, as statement parameters."""
    return [row.id for row in rows]
