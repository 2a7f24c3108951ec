"""The statements of a sweep, made once for each target and database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal,
    null,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from duetime.transitions.guard import in_words
from duetime.transitions.instant import Instant, bare, in_utc, to_bare
from duetime.transitions.ledger import key_text
from duetime.transitions.target import Target

# Timestamps beyond Python's years, PostgreSQL's infinities among them, are nobody's time.
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Statements:
    """Their parameters are named after us, lest a column has the same name."""

    target: Target
    dialect: str
    # Whether those that failed are tried again, whatever their backoff says.
    parked: bool = False

    # -- finding ---------------------------------------------------------------------

    @cached_property
    def due(self) -> Select[Any]:
        """Keys of rows whose time has come, the oldest first."""
        target = self.target
        return (
            select(
                *target.keys,
                type_coerce(target.column, bare(target.column)).label("duetime_due"),
                self._key.label("duetime_key"),
            )
            .where(*self._still_due, ~self._blocked)
            .order_by(target.column, *target.keys)
            .limit(bindparam("duetime_limit", type_=Integer))
        )

    def after(self, due: Select[Any], cursor: tuple[Any, ...]) -> Select[Any]:
        """Those behind the last one that was looked at."""
        columns = [self.target.column, *self.target.keys]
        types = [bare(self.target.column), *(one.type for one in self.target.keys)]
        places = [
            bindparam(f"duetime_cursor_{number}", value, type_)
            for number, (value, type_) in enumerate(zip(cursor, types, strict=True))
        ]
        return due.where(tuple_(*columns) > tuple_(*places))

    @cached_property
    def next_due(self) -> Select[Any]:
        column = self.target.column
        soonest = type_coerce(func.min(column), bare(column))
        later = [column > self._now, column < self._bound(LAST)]
        return select(soonest).where(*later, *in_words(self.target.guard))

    @cached_property
    def next_retry(self) -> Select[Any]:
        ledger = self.target.ledger
        later = ledger.c.retry_at > self._instant
        return select(func.min(ledger.c.retry_at)).where(*self._mine, later)

    # -- taking ----------------------------------------------------------------------

    @cached_property
    def take(self) -> Select[Any]:
        """The rows, locked, if they are still what they were. SQLite has one lock for all. A
        model that inherits may have a part of its columns in another table."""
        mapper = self.target.mapper
        columns = [column for table in mapper.tables for column in table.columns]
        return self._taken(*columns).select_from(mapper.persist_selectable)

    @cached_property
    def take_keys(self) -> Select[Any]:
        """The same for who changes rows without loading them."""
        return self._taken(*self.target.keys)

    def _taken(self, *columns: ColumnElement[Any]) -> Select[Any]:
        still = [self._among, *self._still_due, ~self._blocked]
        return (
            select(*columns).where(*still).with_for_update(of=self.target.table, skip_locked=True)
        )

    @cached_property
    def claim(self) -> Executable:
        """Write down that this value of these rows is applied. It is the fence: of all who try,
        one gets the row's key back, whatever they saw before."""
        ledger, target = self.target.ledger, self.target
        instant = self._instant
        source = select(
            literal(target.table.fullname, Text),
            literal(target.column.name, Text),
            self._key,
            in_utc(target.column, self.dialect),
            instant,
            literal(0),
        ).where(self._among)
        names = ["table_name", "column_name", "row_key", "value", "applied_at", "attempts"]
        insert = (postgresql if self.dialect == "postgresql" else sqlite).insert(ledger)
        given = insert.excluded
        old, new = ledger.c.value, given.value
        failed = ledger.c.applied_at.is_(None)
        again = failed if self.parked else and_(failed, ledger.c.retry_at <= instant)
        claim: Executable = (
            insert.from_select(names, source)
            .on_conflict_do_update(
                index_elements=list(ledger.primary_key.columns),
                set_={
                    "value": new,
                    "applied_at": given.applied_at,
                    "attempts": case((old == new, ledger.c.attempts), else_=0),
                    "retry_at": null(),
                    "error": null(),
                },
                where=or_(old != new, again),
            )
            .returning(ledger.c.row_key, ledger.c.attempts)
        )
        return claim

    # -- writing ---------------------------------------------------------------------

    def change(self, now: datetime) -> Update | Delete:
        """The change of many rows at once, past the ORM."""
        table, target = self.target.table, self.target
        if target.declared.hard_delete:
            return delete(table).where(self._among)
        return update(table).where(self._among).values(target.values(now))

    @cached_property
    def fail(self) -> Update:
        ledger = self.target.ledger
        return update(ledger).where(*self._mine, ledger.c.row_key == bindparam("duetime_text"))

    @cached_property
    def forget(self) -> Delete:
        """All that is known of rows, of every column: they are gone."""
        ledger = self.target.ledger
        return delete(ledger).where(
            ledger.c.table_name == self.target.table.fullname,
            ledger.c.row_key.in_(bindparam("duetime_texts", expanding=True)),
        )

    # -- looking ---------------------------------------------------------------------

    def count_due(self) -> Select[Any]:
        return select(func.count()).select_from(self.due.subquery())

    def count_failed(self) -> Executable:
        ledger = self.target.ledger
        retrying = func.count(ledger.c.retry_at)
        parked = func.count() - retrying
        failed = [*self._mine, ledger.c.applied_at.is_(None)]
        return select(retrying.label("retrying"), parked.label("parked")).where(*failed)

    def known(self, most: int) -> Select[Any]:
        """Keys in the ledger, in order, behind the last one."""
        key = self.target.ledger.c.row_key
        behind = [*self._mine, key > bindparam("duetime_text")]
        return select(key).where(*behind).order_by(key).limit(most)

    def present(self) -> Select[Any]:
        return select(self._key).where(self._among)

    # -- their parts -----------------------------------------------------------------

    @property
    def _now(self) -> ColumnElement[Any]:
        return bindparam("duetime_now", type_=bare(self.target.column))

    @property
    def _instant(self) -> ColumnElement[datetime]:
        return bindparam("duetime_instant", type_=Instant())

    def _bound(self, moment: datetime) -> ColumnElement[Any]:
        column = self.target.column
        return bindparam(None, to_bare(moment, column), type_=bare(column), unique=True)

    @property
    def _still_due(self) -> list[ColumnElement[bool]]:
        column = self.target.column
        return [column <= self._now, column >= self._bound(FIRST), *in_words(self.target.guard)]

    @cached_property
    def _key(self) -> ColumnElement[str]:
        return key_text(self.target.keys, self.dialect)

    @property
    def _among(self) -> ColumnElement[bool]:
        keys = self.target.keys
        if len(keys) == 1:
            return keys[0].in_(bindparam("duetime_rows", expanding=True))
        return tuple_(*keys).in_(bindparam("duetime_rows", expanding=True))

    @property
    def _mine(self) -> list[ColumnElement[bool]]:
        ledger, target = self.target.ledger, self.target
        named = ledger.c.table_name == target.table.fullname
        return [named, ledger.c.column_name == target.column.name]

    @cached_property
    def _blocked(self) -> ColumnElement[bool]:
        """This value was applied, or failed and is not to be tried yet. Asked row by row, as a
        value: a join might read the whole ledger first."""
        ledger, target = self.target.ledger, self.target
        same = ledger.c.value == in_utc(target.column, self.dialect)
        noted = (
            select(literal(1))
            .where(*self._mine, ledger.c.row_key == self._key, same, self._bars)
            .correlate(target.table)
            .scalar_subquery()
        )
        return func.coalesce(noted, 0) == 1

    @property
    def _bars(self) -> ColumnElement[bool]:
        ledger = self.target.ledger
        if self.parked:
            return ledger.c.applied_at.is_not(None)
        return or_(ledger.c.retry_at.is_(None), ledger.c.retry_at > self._instant)
