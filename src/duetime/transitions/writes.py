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
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from duetime.model.clock import EPOCH
from duetime.transitions.row_key import named
from duetime.transitions.selects import Finding
from duetime.transitions.timestamps import Instant, in_utc


@dataclass(frozen=True, eq=False)
class Statements(Finding):
    # -- the ledger ------------------------------------------------------------------

    @cached_property
    def claim(self) -> Executable:
        """Write down that this value of these rows is applied. It is the fence: of all who try,
        one gets the row's key back, whatever they saw before."""
        source = self._given() if self.on_postgres else self._read_again()
        ledger = self.target.ledger
        claim: Executable = self._claimed(source).returning(ledger.c.row_key, ledger.c.attempts)
        return claim

    def _given(self) -> Any:
        """Keys and values as two lists: PostgreSQL reads a list faster than many parameters."""
        texts = bindparam("duetime_texts", type_=postgresql.ARRAY(Text))
        values = bindparam("duetime_values", type_=postgresql.ARRAY(Instant))
        rows = (
            func.unnest(texts, values)
            .table_valued("text", "value", name="duetime_rows")
            .render_derived()
        )
        return self._lines(rows.c.text, rows.c.value)

    def _read_again(self) -> Any:
        return self._lines(self.key, in_utc(self.target.column, self.dialect)).where(self.among)

    def _lines(self, key: ColumnElement[Any], value: ColumnElement[Any]) -> Any:
        table, column = self.table_name, self.target.column.name
        named = [literal(table, Text).label("table_name"), literal(column, Text).label("column")]
        line: list[ColumnElement[Any]] = [*named, key, value, self._instant, literal(0)]
        return select(*line)

    def _claimed(self, source: Any) -> Any:
        ledger = self.target.ledger
        names = ["table_name", "column_name", "row_key", "value", "applied_at", "attempts"]
        insert = (postgresql if self.on_postgres else sqlite).insert(ledger)
        given = insert.excluded
        old, new = ledger.c.value, given.value
        failed = ledger.c.applied_at.is_(None)
        again = failed if self.parked else and_(failed, ledger.c.retry_at <= self._instant)
        # Back at the one that was applied before another failed.
        undone = and_(failed, func.coalesce(ledger.c.applied_value == new, false()))
        return insert.from_select(names, source).on_conflict_do_update(
            index_elements=list(ledger.primary_key.columns),
            set_={
                "value": new,
                "applied_value": case((failed, ledger.c.applied_value), else_=old),
                "applied_at": given.applied_at,
                "attempts": case((old == new, ledger.c.attempts), else_=0),
                "retry_at": null(),
                "error": null(),
            },
            where=or_(and_(old != new, ~undone), and_(old == new, again)),
        )

    @property
    def _instant(self) -> ColumnElement[datetime]:
        return bindparam("duetime_now", type_=Instant())

    @cached_property
    def fail(self) -> Update:
        ledger = self.target.ledger
        return update(ledger).where(*self.mine, ledger.c.row_key == bindparam("duetime_text"))

    @cached_property
    def clear(self) -> Delete:
        """What is known of this column: it is empty now, and whatever it gets is a new wish."""
        ledger = self.target.ledger
        named = ledger.c.row_key.in_(bindparam("duetime_texts", expanding=True))
        return delete(ledger).where(*self.mine, named)

    @cached_property
    def forget(self) -> Delete:
        """All that is known of rows, of every column: they are gone."""
        return delete(self.target.ledger).where(*self._of_rows)

    @cached_property
    def hold(self) -> Select[Any]:
        """The same lines, held until the end of the transaction."""
        key = self.target.ledger.c.row_key
        return select(key).where(*self._of_rows).order_by(key).with_for_update()

    @property
    def _of_rows(self) -> list[ColumnElement[bool]]:
        ledger = self.target.ledger
        named = ledger.c.row_key.in_(bindparam("duetime_texts", expanding=True))
        return [ledger.c.table_name == self.table_name, named]

    def noted(self, most: int) -> Select[Any]:
        """Keys in the ledger, in order, behind the last one."""
        key = self.target.ledger.c.row_key
        behind = [*self.mine, key > bindparam("duetime_text")]
        return select(key).where(*behind).order_by(key).limit(most)

    @cached_property
    def present(self) -> Select[Any]:
        """Those of some keys whose rows are there, as text."""
        return select(self.key).where(named(self.target.keys, self.dialect))

    # -- many rows at once -----------------------------------------------------------

    @cached_property
    def change(self) -> Update | Delete:
        """Past the ORM. What depends on the time is a parameter: see `values_at`."""
        table = self.target.table
        if self.target.declared.hard_delete:
            return delete(table).where(self.among)
        return self._update.where(self.among)

    @property
    def _update(self) -> Update:
        return update(self.target.table).values(self._values)

    @property
    def _values(self) -> dict[Any, Any]:
        return {
            column: bindparam(f"duetime_set_{column.name}", type_=column.type)
            for column in self.target.values(EPOCH)
        }

    def values_at(self, now: datetime) -> dict[str, object]:
        if self.target.declared.hard_delete:
            return {}
        written = self.target.values(now).items()
        return {f"duetime_set_{column.name}": value for column, value in written}

    @cached_property
    def sweep(self) -> Executable:
        """Find, lock, claim and change a batch by one statement, and tell of each row; PostgreSQL
        only."""
        done = self._swept(self.take_keys.cte("duetime_taken"))
        return select(*done.columns).order_by(*self._places(done))

    @cached_property
    def sweep_unheard(self) -> Executable:
        """The same, if nobody wants to know of each row: of the last one that was taken, how many
        were, and how many were changed."""
        return self._sweep_unheard(self.take_keys)

    @cached_property
    def sweep_unasked(self) -> Executable:
        """The same without asking the ledger for each row before it is locked, which takes a tenth
        of the time: only what is written there decides."""
        return self._sweep_unheard(self.take_keys_unasked)

    def _sweep_unheard(self, take: Select[Any]) -> Executable:
        due = take.cte("duetime_taken")
        done = self._swept(due)
        last = [place.desc() for place in self._places(due)]
        counts = [
            select(func.count()).select_from(one).scalar_subquery().label(label)
            for one, label in ((due, "duetime_number"), (done, "duetime_count"))
        ]
        return select(*due.columns, *counts).order_by(*last).limit(1)

    def _places(self, rows: CTE) -> list[ColumnElement[Any]]:
        return [rows.c.duetime_due, *(rows.c[name] for name in self.key_labels)]

    def _swept(self, due: CTE) -> CTE:
        found = [due.c[name] for name in self.key_labels]
        same = [key == one for key, one in zip(self.target.keys, found, strict=True)]
        told = [*found, due.c.duetime_due, due.c.duetime_key]
        table = self.target.table
        changed: Delete | Update
        if self.target.once:
            # Gone once is gone: nothing need be written down.
            changed = delete(table) if self.target.declared.hard_delete else self._update
            changed = changed.where(*same).add_cte(self._forgotten(due))
            return changed.returning(*told).cte("duetime_swept")
        source = self._lines(due.c.duetime_key, due.c.duetime_value)
        claimed = self._claimed(source).returning(self.target.ledger.c.row_key)
        ours: CTE = claimed.cte("duetime_claimed")
        changed = self._update.where(*same, due.c.duetime_key == ours.c.row_key)
        return changed.returning(*told).cte("duetime_swept")

    def _forgotten(self, due: CTE) -> CTE:
        ledger = self.target.ledger
        gone = [ledger.c.table_name == self.table_name]
        gone = gone if self.target.declared.hard_delete else self.mine
        return (
            delete(ledger)
            .where(*gone, ledger.c.row_key == cast(due.c.duetime_key, Text))
            .returning(ledger.c.row_key)
            .cte("duetime_forgotten")
        )
