"""The statements of a sweep that find rows, built once for each target and database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Select,
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    tuple_,
    type_coerce,
)

from duetime.transitions.guard import with_literals
from duetime.transitions.row_key import key_text, matches_keys
from duetime.transitions.target import Target
from duetime.transitions.timestamps import Instant, has_time_zone, in_utc, stored_type, to_stored

# Timestamps outside Python's years, PostgreSQL's infinities among them, are never due.
EARLIEST_DUE = datetime(1, 1, 2, tzinfo=UTC)
LATEST_DUE = datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class TargetSelects:
    """SELECT statements of one target. Parameters and labels begin with `duetime_`, to differ from
    names of columns."""

    target: Target
    dialect: str
    # Whether failed rows are retried regardless of their backoff.
    parked: bool = False
    # Whether only rows behind the cursor are selected.
    after_cursor: bool = False
    # The engine's schema_translate_map.
    schema_map: Mapping[str | None, str | None] = field(default_factory=dict)

    @property
    def on_postgres(self) -> bool:
        return self.dialect == "postgresql"

    # -- probing ---------------------------------------------------------------------

    @cached_property
    def probe(self) -> Executable:
        """Select the time, the number of due rows (up to a limit), and when a row is due or
        retried next: all that a sweep needs if no row is due."""
        now = self._clock
        return select(
            type_coerce(now, Instant()).label("now"),
            self._count_due(now).label("due"),
            self._next_due(now).label("next_due"),
            self._next_retry(now).label("next_retry"),
        )

    def _count_due(self, now: ColumnElement[Any]) -> ColumnElement[int]:
        due = select(literal(1)).select_from(self.target.source).where(*self._due_terms(now))
        limited = due.limit(self._limit).subquery()
        return select(func.count()).select_from(limited).scalar_subquery()

    def _next_due(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        column = self.target.column
        soonest = type_coerce(func.min(column), stored_type(column))
        later = [column > self._in_zone(now), column < self._bound(LATEST_DUE)]
        query = select(soonest).select_from(self.target.source)
        return query.where(*later, *self._guard_terms).scalar_subquery()

    def _next_retry(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        retry_at = self.target.ledger.c.retry_at
        soonest = select(func.min(retry_at)).where(*self.entries_of_target, retry_at > now)
        return soonest.scalar_subquery()

    def count_failed(self) -> Executable:
        """Count failed rows that still have the value which failed; all others were corrected by
        hand."""
        ledger = self.target.ledger
        retrying = func.count(ledger.c.retry_at)
        parked = func.count() - retrying
        failed = [*self.entries_of_target, ledger.c.applied_at.is_(None), *self._entry_of_value]
        query = select(retrying.label("retrying"), parked.label("parked"))
        return query.select_from(self.target.source, ledger).where(*failed, *self._guard_terms)

    # -- parked rows -----------------------------------------------------------------

    @cached_property
    def parked_keys(self) -> Select[Any]:
        """Select the next row keys of parked entries, in order, after a given key."""
        key = self.target.ledger.c.row_key
        after = [*self._parked_entries, key > bindparam("duetime_row_key")]
        return select(key).where(*after).order_by(key).limit(self._limit)

    @cached_property
    def parked_rows(self) -> Select[Any]:
        """Select those of the given row keys whose rows are parked: they still have the value that
        failed."""
        return self._select_parked(matches_keys(self.target.keys, self.dialect))

    @cached_property
    def parked_named(self) -> Select[Any]:
        """Select those of the given primary keys whose rows are parked."""
        return self._select_parked(self.in_given_rows)

    def _select_parked(self, of_rows: ColumnElement[bool]) -> Select[Any]:
        ledger, column = self.target.ledger, self.target.column
        due = type_coerce(column, stored_type(column)).label("duetime_due")
        entry = [ledger.c.row_key.label("duetime_key"), ledger.c.attempts, ledger.c.error]
        parked = [*self._parked_entries, *self._entry_of_value, *self._guard_terms, of_rows]
        query = select(*self._labelled_keys, due, *entry)
        return (
            query.select_from(self.target.source, ledger).where(*parked).order_by(ledger.c.row_key)
        )

    @property
    def _parked_entries(self) -> list[ColumnElement[bool]]:
        ledger = self.target.ledger
        failed = ledger.c.applied_at.is_(None)
        return [*self.entries_of_target, failed, ledger.c.retry_at.is_(None)]

    # -- taking rows -----------------------------------------------------------------

    @cached_property
    def take(self) -> Executable:
        """Select and lock due rows, the oldest first, each as it is once locked, with models. A
        model that inherits may have a part of its columns in another table."""
        return self._with_models(self._select_due())

    @cached_property
    def load(self) -> Executable:
        """Select rows that were taken before, with models."""
        return self._with_models(select(*self._row_columns).where(self.in_given_rows))

    def _with_models(self, taken: Select[Any]) -> Executable:
        """Add the model, and the table's own key: a mapper may use another key."""
        mapper = self.target.mapper
        columns = [column for table in mapper.tables for column in table.columns]
        core = taken.add_columns(*self._labelled_keys, *columns)
        core = core.select_from(mapper.persist_selectable)
        selected = core.selected_columns
        keys = [selected[name] for name in self.key_labels]
        loaded = select(mapper.class_, selected.duetime_due, selected.duetime_key, *keys)
        return loaded.from_statement(core).execution_options(populate_existing=True)

    @property
    def _labelled_keys(self) -> list[Any]:
        return [
            key.label(name) for key, name in zip(self.target.keys, self.key_labels, strict=True)
        ]

    @cached_property
    def key_labels(self) -> list[str]:
        return [f"duetime_key_{n}" for n, _ in enumerate(self.target.keys)]

    @cached_property
    def take_keys(self) -> Select[Any]:
        """Select and lock due rows without models."""
        return self._select_due().add_columns(*self._labelled_keys)

    @cached_property
    def take_keys_unchecked(self) -> Select[Any]:
        """Select and lock due rows without models and without checking the ledger: the claim,
        which writes into the ledger, finds out."""
        return self._select_due(check_ledger=False).add_columns(*self._labelled_keys)

    def take_given_keys(self) -> Select[Any]:
        return self.take_keys.where(self.in_given_rows)

    def _select_due(self, *, check_ledger: bool = True) -> Select[Any]:
        """Select due rows FOR UPDATE, which SQLite ignores, as it has one lock for the database.
        Unless the row will be deleted, the lock still lets other rows refer to it by foreign key,
        as a manual UPDATE would."""
        target = self.target
        now = bindparam("duetime_now", type_=Instant())
        return (
            select(*self._row_columns)
            .select_from(target.source)
            .where(*self._due_terms(now, check_ledger=check_ledger))
            .order_by(target.column, *target.keys)
            .limit(self._limit)
            .with_for_update(
                of=target.locked_tables,
                skip_locked=True,
                key_share=not target.declared.hard_delete,
            )
        )

    @property
    def _row_columns(self) -> list[ColumnElement[Any]]:
        column = self.target.column
        return [
            type_coerce(column, stored_type(column)).label("duetime_due"),
            self.key.label("duetime_key"),
            in_utc(column, self.dialect).label("duetime_value"),
        ]

    # -- terms -----------------------------------------------------------------------

    @property
    def _clock(self) -> ColumnElement[Any]:
        """The time given as a parameter, else the database's own time."""
        now = bindparam("duetime_now", type_=Instant())
        return func.coalesce(now, func.statement_timestamp()) if self.on_postgres else now

    def _in_zone(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the time in the column's own form: PostgreSQL would compare a naive column in the
        session's time zone."""
        naive = self.on_postgres and not has_time_zone(self.target.column)
        return func.timezone("UTC", now) if naive else now

    @property
    def _limit(self) -> ColumnElement[int]:
        return bindparam("duetime_limit", type_=Integer)

    def _bound(self, moment: datetime) -> ColumnElement[Any]:
        column = self.target.column
        return bindparam(None, to_stored(moment, column), type_=stored_type(column), unique=True)

    def _due_terms(self, now: ColumnElement[Any], *, check_ledger: bool = True) -> list[Any]:
        column, earliest = self.target.column, self._bound(EARLIEST_DUE)
        due = [column <= self._in_zone(now), column >= earliest, *self._guard_terms]
        if self.after_cursor:
            due.append(self._behind_cursor)
        return [*due, ~self._blocked_by_ledger(now)] if check_ledger else due

    @property
    def _guard_terms(self) -> list[Any]:
        return [*with_literals(self.target.guard), *self.target.unindexed]

    @property
    def _behind_cursor(self) -> ColumnElement[bool]:
        columns = [self.target.column, *self.target.keys]
        types = [stored_type(self.target.column), *(key.type for key in self.target.keys)]
        cursor = [bindparam(f"duetime_cursor_{n}", type_=type_) for n, type_ in enumerate(types)]
        return tuple_(*columns) > tuple_(*cursor)

    @cached_property
    def key(self) -> ColumnElement[str]:
        return key_text(self.target.keys, self.dialect)

    @property
    def in_given_rows(self) -> ColumnElement[bool]:
        keys = self.target.keys
        if len(keys) == 1:
            return keys[0].in_(bindparam("duetime_rows", expanding=True))
        return tuple_(*keys).in_(bindparam("duetime_rows", expanding=True))

    @property
    def entries_of_target(self) -> list[ColumnElement[bool]]:
        """Terms that select the ledger entries of this target."""
        ledger, target = self.target.ledger, self.target
        of_table = ledger.c.table_name == self.table_name
        return [of_table, ledger.c.column_name == target.column.name]

    @property
    def table_name(self) -> str:
        """The table's name in the ledger, with its schema: one model may map tables of several
        schemas."""
        table = self.target.table
        schema = self.schema_map.get(table.schema, table.schema)
        return table.name if schema is None else f"{schema}.{table.name}"

    def _blocked_by_ledger(self, now: ColumnElement[Any]) -> ColumnElement[bool]:
        """Whether the row's value was applied last, or failed and may not be retried yet. A scalar
        subquery for each row: a join might read the whole ledger first."""
        ledger, value = self.target.ledger, in_utc(self.target.column, self.dialect)
        waiting = and_(ledger.c.value == value, self._not_retryable(now))
        applied = and_(ledger.c.applied_at.is_(None), ledger.c.applied_value == value)
        of_row = [*self.entries_of_target, ledger.c.row_key == self.key]
        entry = (
            select(literal(1))
            .where(*of_row, or_(waiting, applied))
            .correlate(self.target.table)
            .scalar_subquery()
        )
        return func.coalesce(entry, 0) == 1

    @property
    def _entry_of_value(self) -> list[ColumnElement[bool]]:
        """Terms that join a row to its ledger entry, if the entry is about the row's value."""
        ledger = self.target.ledger
        same = ledger.c.value == in_utc(self.target.column, self.dialect)
        return [ledger.c.row_key == self.key, same]

    def _not_retryable(self, now: ColumnElement[Any]) -> ColumnElement[bool]:
        ledger = self.target.ledger
        if self.parked:
            return ledger.c.applied_at.is_not(None)
        return or_(ledger.c.retry_at.is_(None), ledger.c.retry_at > now)
