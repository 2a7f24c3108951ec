"""Repairs damaged rows, after a statement has stumbled over one.

An action with a damaged value cannot be run as it was meant: it fails for good, and its error says
what its columns held. In other tables the value is replaced. Afterwards every statement can read
every row again, so that none needs to expect damage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar, cast

from duetime.logs import get_log
from duetime.model.actions.outcome import truncate_error
from duetime.model.clock import monotonic
from duetime.model.ids import NewId
from duetime.model.state import Outcome, State
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.sqlite.errors import may_be_damage
from duetime.store.sql.sqlite.stored_values import Column, RepairedRow, repair
from duetime.store.sql.statements.table_names import TableNames

T = TypeVar("T")

log = get_log("duetime.store")

# The statement that reads each table, whose texts must be read as they are stored.
READERS = {
    "actions": "raw_actions",
    "history": "raw_history",
    "runs": "raw_runs",
    "jobs": "raw_jobs",
    "workers": "raw_workers",
}
RAW_STATEMENTS = frozenset(READERS.values())
# Rows that are read in one transaction, so that other flows are performed in between.
WINDOW_SIZE = 1000
BEFORE_FIRST_ROW = -(2**63)
# After a search that found nothing, pause this many times its duration.
SEARCH_PAUSE_FACTOR = 50

REMEDY = "was the database written by other means than duetime? schedule the action again"


class Repair:
    """Performs a flow again after repairing the rows that it may have stumbled over."""

    def __init__(self, names: TableNames, ids: NewId) -> None:
        self._names = names
        self._ids = ids
        self._next_search = 0.0

    def after(self, error: Exception, flow: Flow[T]) -> Generator[Flow[Any], Any, T]:
        """Yield flows to perform, the failed one last. Raises the error if it tells of no damage,
        or if a search has just found none."""
        began = monotonic()
        if not may_be_damage(error) or began < self._next_search:
            raise error
        found = 0
        for table in READERS:
            rowid: int | None = BEFORE_FIRST_ROW
            while rowid is not None:
                rowid, repaired = yield self._window(table, rowid)
                found += repaired
        if not found:
            self._next_search = monotonic() + SEARCH_PAUSE_FACTOR * (monotonic() - began)
        return cast("T", (yield flow))

    def _window(self, table: str, last_rowid: int) -> Flow[tuple[int | None, int]]:
        """Repair the window of a table that begins after `last_rowid`. Returns the rowid after
        which the next one begins, None after the last, and the number of damaged rows."""

        def steps() -> Steps[tuple[int | None, int]]:
            columns = yield from self._columns(table)
            params = {"rowid": last_rowid, "window": WINDOW_SIZE}
            rows = cast("Any", (yield Statement(READERS[table], params)))
            now = yield from clock()
            damaged = 0
            for rowid, *values in rows:
                row = repair(columns, values, now, self._ids)
                if row.damage:
                    damaged += 1
                    log.error("%s of %s is damaged: %s", _title(row), table, "; ".join(row.damage))
                    yield from REPAIRS[table](rowid, row, now, self._ids)
            return (rows[-1][0] if len(rows) == WINDOW_SIZE else None), damaged

        return Flow(steps, Mode.write)

    def _columns(self, table: str) -> Steps[Sequence[Column]]:
        found = yield Statement("table_columns", {"table": f"{self._names.prefix}{table}"})
        return [
            Column(name, type_.lower() == "integer", bool(required))
            for name, type_, required in cast("Any", found)
        ]


def _title(row: RepairedRow) -> str:
    return f"row {row.values.get('name', row.values.get('id'))}"


def _fail_action(rowid: int, row: RepairedRow, now: int, ids: NewId) -> Steps[None]:
    """Move a damaged action to history, as failed; under another id if its own is taken."""
    ending = {"state": State.failed.value, "outcome": Outcome.failed.value, "finished_at": now}
    reason = truncate_error(f"its row was damaged: {'; '.join(row.damage)}; {REMEDY}")
    failed = {**row.values, **ending, "error": reason}
    yield Statement("delete_damaged_actions", {"rowid": rowid})
    yield from _insert_finished(failed, ids)


def _repair_history(rowid: int, row: RepairedRow, _now: int, ids: NewId) -> Steps[None]:
    error = row.values["error"]
    reason = truncate_error(f"its row was damaged: {'; '.join(row.damage)}")
    yield Statement("delete_damaged_history", {"rowid": rowid})
    yield from _insert_finished(
        {**row.values, "error": f"{reason}; {error}" if error else reason}, ids
    )


def _insert_finished(values: Mapping[str, object], ids: NewId) -> Steps[None]:
    """Insert under a new id if the row's own is taken."""
    for id_ in (values["id"], str(ids())):
        if (yield Statement("repair_history", {"row": json.dumps({**values, "id": id_})})):
            return


def _repair_run(rowid: int, row: RepairedRow, _now: int, _ids: NewId) -> Steps[None]:
    yield Statement("repair_runs", {"rowid": rowid, "row": json.dumps(row.values)})


def _repair_job(rowid: int, row: RepairedRow, _now: int, _ids: NewId) -> Steps[None]:
    yield Statement("repair_jobs", {"rowid": rowid, "row": json.dumps(row.values)})


def _forget_worker(rowid: int, _row: RepairedRow, _now: int, _ids: NewId) -> Steps[None]:
    """Delete a worker's row: one that is alive registers again at its next sweep."""
    yield Statement("delete_damaged_workers", {"rowid": rowid})


RepairRow = Callable[[int, RepairedRow, int, NewId], Steps[None]]
REPAIRS: Mapping[str, RepairRow] = {
    "actions": _fail_action,
    "history": _repair_history,
    "runs": _repair_run,
    "jobs": _repair_job,
    "workers": _forget_worker,
}
