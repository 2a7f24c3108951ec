"""Which statements may make rows of a transition due: those that write its column, or a column of
its guard. Statements are recognised by their text, so that bulk statements and SQL count too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ExecutionContext
from sqlalchemy.sql import visitors

from duetime.model.lane import row_lane
from duetime.transitions.commit import sweeping
from duetime.transitions.registration import Registration
from duetime.transitions.target import Target

NO_CHANGES: frozenset[str] = frozenset()
CACHED_STATEMENTS = 1000
# Their rows become due by no change of a column.
IRRELEVANT = re.compile(r"\s*(SELECT|DELETE)\b", re.IGNORECASE)
UPDATE = re.compile(r"\s*UPDATE\b", re.IGNORECASE)
WHERE = re.compile(r"\sWHERE\s", re.IGNORECASE)


def row_lanes(registration: Registration) -> dict[Target, str]:
    """Return for each target the lane of wakes for its table."""
    return {
        target: row_lane(registration.statements(target, False, False).table_name)
        for target in registration.targets
    }


class TableChanges:
    """Returns the tables that a statement may change."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._tables = list(tables)

    def __call__(self, statement: str, context: ExecutionContext) -> frozenset[str]:
        if statement.startswith("SELECT"):
            return NO_CHANGES
        return frozenset(name for name in self._tables if name in statement)


class RowChanges:
    """Returns the lanes of the tables in which a statement may have made rows due. A runner's own
    statements do not count: it knows what it changes."""

    def __init__(self, registration: Registration) -> None:
        self._columns = [
            WatchedColumn(target, lane) for target, lane in row_lanes(registration).items()
        ]
        self._written = lru_cache(CACHED_STATEMENTS)(self._find_written)

    def __call__(self, statement: str, context: ExecutionContext) -> frozenset[str]:
        written = self._written(statement)
        if not written or sweeping.get():
            return NO_CHANGES
        return frozenset(column.lane for column in written if column.may_be_due(statement, context))

    def _find_written(self, statement: str) -> Sequence[WatchedColumn]:
        if IRRELEVANT.match(statement):
            return ()
        return [column for column in self._columns if column.is_written(statement)]


class WatchedColumn:
    """The column of a transition, and the columns of its guard."""

    def __init__(self, target: Target, lane: str) -> None:
        self.lane = lane
        self._key = target.column.key
        self._table = _any_of([target.table.name])
        self._column = _any_of([target.column.name])
        self._any = _any_of([target.column.name, *_guard_columns(target)])

    def is_written(self, statement: str) -> bool:
        return self._table.search(statement) is not None and self._in(self._any, statement)

    def may_be_due(self, statement: str, context: ExecutionContext) -> bool:
        """Return whether any written value is not NULL: a row without a time is never due."""
        if not self._in(self._column, statement):
            return True
        values = list(self._values(getattr(context, "compiled_parameters", None) or ()))
        return not values or any(value is not None for value in values)

    def _in(self, columns: re.Pattern[str], statement: str) -> bool:
        """Whether the statement writes one of the columns: an UPDATE may also compare them."""
        compared = [*WHERE.finditer(statement)] if UPDATE.match(statement) else []
        end = compared[-1].start() if compared else len(statement)
        return columns.search(statement, 0, end) is not None

    def _values(self, parameters: Iterable[dict[str, Any]]) -> Iterable[object]:
        """Yield the values that are bound to the column; of several rows in one statement, too."""
        for bound in parameters:
            for name, value in bound.items():
                if name == self._key or name.startswith(f"{self._key}_m"):
                    yield value


def _guard_columns(target: Target) -> set[str]:
    elements = (element for term in target.guard for element in visitors.iterate(term))
    return {element.name for element in elements if isinstance(element, Column)}


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)")
