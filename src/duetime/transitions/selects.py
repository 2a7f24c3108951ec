"""The statements of a sweep that find rows, made once for each target and database."""

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

from duetime.transitions.guard import in_words
from duetime.transitions.row_key import key_text
from duetime.transitions.target import Target
from duetime.transitions.timestamps import Instant, bare, in_utc, to_bare, zoned

# Timestamps beyond Python's years, PostgreSQL's infinities among them, are nobody's time.
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Finding:
    """Their parameters are named after us, lest a column has the same name."""

    target: Target
    dialect: str
    # Whether those that failed are tried again, whatever their backoff says.
    parked: bool = False
    # Whether only rows behind the last one that was looked at are meant.
    behind: bool = False
    # The engine's schema_translate_map.
    schemas: Mapping[str | None, str | None] = field(default_factory=dict)

    @property
    def on_postgres(self) -> bool:
        return self.dialect == "postgresql"

    # -- looking ---------------------------------------------------------------------

    @cached_property
    def look(self) -> Executable:
        """The time, how many rows are due (up to a limit), and when there is something to do
        next: all that a sweep needs to know if nothing is due."""
        now = self._clock
        return select(
            type_coerce(now, Instant()).label("now"),
            self._count(now).label("due"),
            self._next_due(now).label("next_due"),
            self._next_retry(now).label("next_retry"),
        )

    def _count(self, now: ColumnElement[Any]) -> ColumnElement[int]:
        due = select(literal(1)).select_from(self.target.source).where(*self._due(now))
        some = due.limit(self._limit).subquery()
        return select(func.count()).select_from(some).scalar_subquery()

    def _next_due(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        column = self.target.column
        soonest = type_coerce(func.min(column), bare(column))
        later = [column > self._in_zone(now), column < self._bound(LAST)]
        found = select(soonest).select_from(self.target.source)
        return found.where(*later, *self._guard).scalar_subquery()

    def _next_retry(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        ledger = self.target.ledger
        soonest = select(func.min(ledger.c.retry_at)).where(*self.mine, ledger.c.retry_at > now)
        return soonest.scalar_subquery()

    def count_failed(self) -> Executable:
        """Of rows that still have the value which failed: others were settled by hand."""
        ledger = self.target.ledger
        retrying = func.count(ledger.c.retry_at)
        parked = func.count() - retrying
        failed = [*self.mine, ledger.c.applied_at.is_(None), *self._same, *self._guard]
        found = select(retrying.label("retrying"), parked.label("parked"))
        return found.select_from(self.target.source, ledger).where(*failed)

    # -- taking ----------------------------------------------------------------------

    @cached_property
    def take(self) -> Executable:
        """Rows whose time has come, the oldest first, each locked as it is then. A model that
        inherits may have a part of its columns in another table."""
        return self._loading(self._taken())

    @cached_property
    def load(self) -> Executable:
        """Some rows that were taken before."""
        return self._loading(select(*self._place).where(self.among))

    def _loading(self, taken: Select[Any]) -> Executable:
        """With their keys, as the table has them: a mapper may go by others."""
        mapper = self.target.mapper
        columns = [column for table in mapper.tables for column in table.columns]
        core = taken.add_columns(*self._labelled_keys, *columns)
        core = core.select_from(mapper.persist_selectable)
        found = core.selected_columns
        keys = [found[name] for name in self.key_labels]
        loaded = select(mapper.class_, found.duetime_due, found.duetime_key, *keys)
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
        """The same for who changes rows without loading them."""
        return self._taken().add_columns(*self._labelled_keys)

    @cached_property
    def take_keys_unasked(self) -> Select[Any]:
        """The same, whatever the ledger says: whoever writes into it will be told."""
        return self._taken(asking=False).add_columns(*self._labelled_keys)

    def take_keys_among(self) -> Select[Any]:
        return self.take_keys.where(self.among)

    def _taken(self, *, asking: bool = True) -> Select[Any]:
        """SQLite, which has one lock for all, takes no notice of FOR UPDATE. Unless a row is
        removed, its lock lets others refer to it, as an update by hand would."""
        target = self.target
        now = bindparam("duetime_now", type_=Instant())
        return (
            select(*self._place)
            .select_from(target.source)
            .where(*self._due(now, asking=asking))
            .order_by(target.column, *target.keys)
            .limit(self._limit)
            .with_for_update(
                of=target.locked, skip_locked=True, key_share=not target.declared.hard_delete
            )
        )

    @property
    def _place(self) -> list[ColumnElement[Any]]:
        column = self.target.column
        return [
            type_coerce(column, bare(column)).label("duetime_due"),
            self.key.label("duetime_key"),
            in_utc(column, self.dialect).label("duetime_value"),
        ]

    # -- their parts -----------------------------------------------------------------

    @property
    def _clock(self) -> ColumnElement[Any]:
        """The time that is given, or else the database's own."""
        given = bindparam("duetime_now", type_=Instant())
        return func.coalesce(given, func.statement_timestamp()) if self.on_postgres else given

    def _in_zone(self, now: ColumnElement[Any]) -> ColumnElement[Any]:
        """As the column has it: PostgreSQL would compare it in the zone of the session."""
        naive = self.on_postgres and not zoned(self.target.column)
        return func.timezone("UTC", now) if naive else now

    @property
    def _limit(self) -> ColumnElement[int]:
        return bindparam("duetime_limit", type_=Integer)

    def _bound(self, moment: datetime) -> ColumnElement[Any]:
        column = self.target.column
        return bindparam(None, to_bare(moment, column), type_=bare(column), unique=True)

    def _due(self, now: ColumnElement[Any], *, asking: bool = True) -> list[Any]:
        column, first = self.target.column, self._bound(FIRST)
        due = [column <= self._in_zone(now), column >= first, *self._guard]
        if self.behind:
            due.append(self._after)
        return [*due, ~self._blocked(now)] if asking else due

    @property
    def _guard(self) -> list[Any]:
        return [*in_words(self.target.guard), *self.target.beyond]

    @property
    def _after(self) -> ColumnElement[bool]:
        columns = [self.target.column, *self.target.keys]
        types = [bare(self.target.column), *(one.type for one in self.target.keys)]
        places = [bindparam(f"duetime_place_{n}", type_=type_) for n, type_ in enumerate(types)]
        return tuple_(*columns) > tuple_(*places)

    @cached_property
    def key(self) -> ColumnElement[str]:
        return key_text(self.target.keys, self.dialect)

    @property
    def among(self) -> ColumnElement[bool]:
        keys = self.target.keys
        if len(keys) == 1:
            return keys[0].in_(bindparam("duetime_rows", expanding=True))
        return tuple_(*keys).in_(bindparam("duetime_rows", expanding=True))

    @property
    def mine(self) -> list[ColumnElement[bool]]:
        """Which lines of the ledger are about this target."""
        ledger, target = self.target.ledger, self.target
        named = ledger.c.table_name == self.table_name
        return [named, ledger.c.column_name == target.column.name]

    @property
    def table_name(self) -> str:
        """As the ledger has it: tables of several schemas may be mapped by one model."""
        table = self.target.table
        schema = self.schemas.get(table.schema, table.schema)
        return table.name if schema is None else f"{schema}.{table.name}"

    def _blocked(self, now: ColumnElement[Any]) -> ColumnElement[bool]:
        """This value was applied last, or failed and is not to be tried yet. Asked row by row, as a
        value: a join might read the whole ledger first."""
        ledger, value = self.target.ledger, in_utc(self.target.column, self.dialect)
        barred = and_(ledger.c.value == value, self._bars(now))
        applied = and_(ledger.c.applied_at.is_(None), ledger.c.applied_value == value)
        noted = (
            select(literal(1))
            .where(*self.mine, ledger.c.row_key == self.key, or_(barred, applied))
            .correlate(self.target.table)
            .scalar_subquery()
        )
        return func.coalesce(noted, 0) == 1

    @property
    def _same(self) -> list[ColumnElement[bool]]:
        """Which line of the ledger is about a row, and about the value that it has."""
        ledger = self.target.ledger
        same = ledger.c.value == in_utc(self.target.column, self.dialect)
        return [ledger.c.row_key == self.key, same]

    def _bars(self, now: ColumnElement[Any]) -> ColumnElement[bool]:
        ledger = self.target.ledger
        if self.parked:
            return ledger.c.applied_at.is_not(None)
        return or_(ledger.c.retry_at.is_(None), ledger.c.retry_at > now)
