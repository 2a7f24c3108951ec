"""The statements of a sweep that write: into the ledger, and into many rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Delete,
    Executable,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    delete,
    false,
    func,
    literal,
    null,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from duetime.model.clock import EPOCH
from duetime.transitions.row_key import matches_keys
from duetime.transitions.selects import TargetSelects
from duetime.transitions.timestamps import Instant, in_utc


@dataclass(frozen=True, eq=False)
class TargetStatements(TargetSelects):
    """All statements of one target: those that find rows and those that write."""

    # -- the ledger ------------------------------------------------------------------

    @cached_property
    def claim(self) -> Executable:
        """Record that the rows' values are applied, and return the keys recorded. This is the
        fence: of concurrent claims exactly one gets a row's key back, whatever each has read
        before."""
        source = self._entries_from_arrays() if self.on_postgres else self._entries_from_table()
        ledger = self.target.ledger
        upsert = self._upsert_applied(source)
        claim: Executable = upsert.returning(ledger.c.row_key, ledger.c.attempts)
        return claim

    def _entries_from_arrays(self) -> Any:
        """Keys and values as two arrays: PostgreSQL reads an array faster than many parameters."""
        row_keys = bindparam("duetime_row_keys", type_=postgresql.ARRAY(Text))
        values = bindparam("duetime_values", type_=postgresql.ARRAY(Instant))
        rows = (
            func.unnest(row_keys, values)
            .table_valued("text", "value", name="duetime_rows")
            .render_derived()
        )
        return self._entries(rows.c.text, rows.c.value)

    def _entries_from_table(self) -> Any:
        entries = self._entries(self.key, in_utc(self.target.column, self.dialect))
        return entries.where(self.in_given_rows)

    def _entries(self, key: ColumnElement[Any], value: ColumnElement[Any]) -> Any:
        table, column = self.table_name, self.target.column.name
        names = [literal(table, Text).label("table_name"), literal(column, Text).label("column")]
        entry: list[ColumnElement[Any]] = [*names, key, value, self._now, literal(0)]
        return select(*entry)

    def _upsert_applied(self, source: Any) -> Any:
        ledger = self.target.ledger
        names = ["table_name", "column_name", "row_key", "value", "applied_at", "attempts"]
        insert = (postgresql if self.on_postgres else sqlite).insert(ledger)
        excluded = insert.excluded
        old, new = ledger.c.value, excluded.value
        failed = ledger.c.applied_at.is_(None)
        retryable = failed if self.parked else and_(failed, ledger.c.retry_at <= self._now)
        # The column was reset to the value applied before another value failed.
        reset = and_(failed, func.coalesce(ledger.c.applied_value == new, false()))
        return insert.from_select(names, source).on_conflict_do_update(
            index_elements=list(ledger.primary_key.columns),
            set_={
                "value": new,
                "applied_value": case((failed, ledger.c.applied_value), else_=old),
                "applied_at": excluded.applied_at,
                "attempts": case((old == new, ledger.c.attempts), else_=0),
                "retry_at": null(),
                "error": null(),
            },
            where=or_(and_(old != new, ~reset), and_(old == new, retryable)),
        )

    @property
    def _now(self) -> ColumnElement[datetime]:
        return bindparam("duetime_now", type_=Instant())

    @cached_property
    def mark_failed(self) -> Update:
        ledger = self.target.ledger
        of_row = ledger.c.row_key == bindparam("duetime_row_key")
        return update(ledger).where(*self.entries_of_target, of_row)

    @cached_property
    def retry_parked(self) -> Executable:
        """Let given parked rows be tried again now, as often as at first, and return their keys."""
        ledger = self.target.ledger
        of_rows = ledger.c.row_key.in_(bindparam("duetime_row_keys", expanding=True))
        released = update(ledger).where(*self._parked_entries, of_rows)
        values = {"retry_at": type_coerce(self._clock, Instant()), "attempts": 0}
        return released.values(values).returning(ledger.c.row_key)

    @cached_property
    def delete_column_entries(self) -> Delete:
        """Delete the entries of this column for given rows: the column is empty now, and its next
        value is a new request."""
        ledger = self.target.ledger
        of_rows = ledger.c.row_key.in_(bindparam("duetime_row_keys", expanding=True))
        return delete(ledger).where(*self.entries_of_target, of_rows)

    @cached_property
    def delete_row_entries(self) -> Delete:
        """Delete the entries of every column for given rows: the rows are gone."""
        return delete(self.target.ledger).where(*self._entries_of_rows)

    @cached_property
    def lock_row_entries(self) -> Select[Any]:
        """Lock the entries of every column for given rows."""
        key = self.target.ledger.c.row_key
        return select(key).where(*self._entries_of_rows).order_by(key).with_for_update()

    @property
    def _entries_of_rows(self) -> list[ColumnElement[bool]]:
        ledger = self.target.ledger
        of_rows = ledger.c.row_key.in_(bindparam("duetime_row_keys", expanding=True))
        return [ledger.c.table_name == self.table_name, of_rows]

    def entry_keys(self, limit: int) -> Select[Any]:
        """Select the next row keys of this target's entries, in order, after a given key."""
        key = self.target.ledger.c.row_key
        after = [*self.entries_of_target, key > bindparam("duetime_row_key")]
        return select(key).where(*after).order_by(key).limit(limit)

    @cached_property
    def existing_rows(self) -> Select[Any]:
        """Select those of the given row keys whose rows exist."""
        return select(self.key).where(matches_keys(self.target.keys, self.dialect))

    # -- many rows at once -----------------------------------------------------------

    @cached_property
    def change_rows(self) -> Update | Delete:
        """Change given rows without the ORM. Values that depend on the time are parameters: see
        `values_at`."""
        table = self.target.table
        if self.target.declared.hard_delete:
            return delete(table).where(self.in_given_rows)
        return self._update.where(self.in_given_rows)

    @property
    def _update(self) -> Update:
        return update(self.target.table).values(self._values)

    @property
    def _values(self) -> dict[Any, Any]:
        return {
            column: bindparam(f"duetime_set_{column.name}", type_=column.type)
            for column in self.target.values_at(EPOCH)
        }

    def values_at(self, now: datetime) -> dict[str, object]:
        """Return the parameters of `change_rows` and of the sweep statements at this time."""
        if self.target.declared.hard_delete:
            return {}
        written = self.target.values_at(now).items()
        return {f"duetime_set_{column.name}": value for column, value in written}

    @cached_property
    def sweep(self) -> Executable:
        """Find, lock, claim and change a batch, and return each changed row; PostgreSQL only."""
        changed = self._changed_rows(self.take_keys.cte("duetime_taken"))
        return select(*changed.columns).order_by(*self._order(changed))

    @cached_property
    def sweep_counted(self) -> Executable:
        """Sweep a batch and return one row only: the last row taken, how many rows were taken and
        how many changed. For targets whose rows are not reported."""
        return self._counted(self.take_keys)

    @cached_property
    def sweep_unchecked(self) -> Executable:
        """Sweep a batch as `sweep_counted` does, without looking up each row in the ledger before
        it is locked, which saves a tenth of the time: the claim alone decides."""
        return self._counted(self.take_keys_unchecked)

    def _counted(self, take: Select[Any]) -> Executable:
        taken = take.cte("duetime_taken")
        changed = self._changed_rows(taken)
        last = [column.desc() for column in self._order(taken)]
        counts = [
            select(func.count()).select_from(rows).scalar_subquery().label(label)
            for rows, label in (
                (taken, "duetime_taken_count"),
                (changed, "duetime_changed_count"),
            )
        ]
        return select(*taken.columns, *counts).order_by(*last).limit(1)

    def _order(self, rows: CTE) -> list[ColumnElement[Any]]:
        return [rows.c.duetime_due, *(rows.c[name] for name in self.key_labels)]

    def _changed_rows(self, taken: CTE) -> CTE:
        keys = [taken.c[name] for name in self.key_labels]
        same = [key == taken_key for key, taken_key in zip(self.target.keys, keys, strict=True)]
        returned = [*keys, taken.c.duetime_due, taken.c.duetime_key]
        table = self.target.table
        changed: Delete | Update
        if self.target.applies_once:
            # The row or its value is gone afterwards: no ledger entry is needed.
            changed = delete(table) if self.target.declared.hard_delete else self._update
            changed = changed.where(*same).add_cte(self._deleted_entries(taken))
            return changed.returning(*returned).cte("duetime_swept")
        source = self._entries(taken.c.duetime_key, taken.c.duetime_value)
        upsert = self._upsert_applied(source).returning(self.target.ledger.c.row_key)
        claimed: CTE = upsert.cte("duetime_claimed")
        changed = self._update.where(*same, taken.c.duetime_key == claimed.c.row_key)
        return changed.returning(*returned).cte("duetime_swept")

    def _deleted_entries(self, taken: CTE) -> CTE:
        ledger = self.target.ledger
        entries = [ledger.c.table_name == self.table_name]
        entries = entries if self.target.declared.hard_delete else self.entries_of_target
        return (
            delete(ledger)
            .where(*entries, ledger.c.row_key == cast(taken.c.duetime_key, Text))
            .returning(ledger.c.row_key)
            .cte("duetime_forgotten")
        )
