"""Repairs damaged rows, after a statement has stumbled over one.

What no run needs is repaired in place. An action with any other damaged value cannot be run as it
was meant: it fails for good, and its error says what its columns held. Afterwards every statement
can read every row again, so that none needs to expect damage. What this version can read stays, and
so do columns that it does not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from duetime.errors import InvalidArgument, UnreadableRow
from duetime.logs import get_log
from duetime.model.actions.outcome import truncate_error
from duetime.model.clock import monotonic
from duetime.model.ids import NewId
from duetime.model.state import Outcome, State
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.sqlite.errors import may_be_damage
from duetime.store.sql.sqlite.known_columns import KNOWN_COLUMNS
from duetime.store.sql.sqlite.stored_values import RepairedRow, repair

T = TypeVar("T")
Waiting = Flow[Any] | Future[bool]

log = get_log("duetime.store")

# The statement that reads each table, whose texts must be read as they are stored.
READERS = {
    "actions": "raw_actions",
    "history": "raw_history",
    "runs": "raw_runs",
    "tracebacks": "raw_tracebacks",
    "jobs": "raw_jobs",
    "workers": "raw_workers",
    "queues": "raw_queues",
    "audit": "raw_audit",
    "grants": "raw_grants",
    "api_keys": "raw_api_keys",
}
RAW_STATEMENTS = frozenset(READERS.values())
# The statements that replace all values of a row.
UPDATES = {
    "actions": "repair_actions",
    "history": "repair_history",
    "runs": "repair_runs",
    "jobs": "repair_jobs",
    "queues": "repair_queues",
    "audit": "repair_audit",
    "grants": "repair_grants",
    "api_keys": "repair_api_keys",
}
# The statements that delete a row. No queue is deleted, which would end its pause; no grant, which
# would allow what it denies; no audit entry.
DELETIONS = {
    "actions": "delete_damaged_actions",
    "history": "delete_damaged_history",
    "runs": "delete_damaged_runs",
    "tracebacks": "delete_damaged_tracebacks",
    "jobs": "delete_damaged_jobs",
    "workers": "delete_damaged_workers",
}
# Rows that are read in one transaction, so that other flows are performed in between.
WINDOW_SIZE = 1000
BEFORE_FIRST_ROW = -(2**63)
# After a search, pause this many times its duration, but no longer than between two sweeps.
SEARCH_PAUSE_FACTOR = 50
MAX_SEARCH_PAUSE_SECONDS = 10.0

# Columns that no run needs: of these, an action loses the damaged value and nothing else.
SIDE_COLUMNS = frozenset(
    (
        *("trace", "error", "progress", "worker", "correlation_id", "key"),
        *("created_by", "modified_by"),
    )
)
# Columns by which a running action is known, kept and run again. Its handler has read the others.
RUNNING_COLUMNS = frozenset({"id", "token", "lane", "lease_until", "payload"})

# Of a queue's name: what is longer could not be given to `queues.resume`.
MAX_NAME_LENGTH = 100

REMEDY = "was the database written by other means than duetime? schedule the action again"


class Repair:
    """Performs a flow again after repairing the rows that it may have stumbled over."""

    def __init__(self, ids: NewId) -> None:
        self._ids = ids
        self._next_search = 0.0
        # The searches that this process performs. Keyed by process, since a forked child does not
        # wait for its parent's; and by whether a blocking call performs it. The future tells
        # whether it came to its end.
        self._searches: dict[tuple[int, bool], Future[bool]] = {}

    def after(
        self, error: Exception, flow: Flow[T], *, blocking: bool = False
    ) -> Generator[Waiting, Any, T]:
        """Yield flows to perform, the failed one last; or another caller's search, to wait for.
        Raises the error if it tells of no damage, or if a search has just ended.

        A blocking call waits for no search of an async one, whose event loop it may be blocking:
        it searches, too. Two searches at once repair each row once.
        """
        if not may_be_damage(error) or monotonic() < self._next_search:
            raise error
        own: Future[bool] = Future()
        key = (os.getpid(), blocking)
        while (search := self._searches.setdefault(key, own)) is not own:
            if (yield search):
                return cast("T", (yield flow))
        ended = False
        try:
            yield from self._search()
            ended = True
        finally:
            del self._searches[key]
            own.set_result(ended)
        return cast("T", (yield flow))

    def _search(self) -> Generator[Waiting, Any, None]:
        began = monotonic()
        for table in READERS:
            rowid: int | None = BEFORE_FIRST_ROW
            while rowid is not None:
                rowid, damaged = yield self._window(table, rowid)
                for damaged_rowid in damaged:
                    yield from self._repair(table, damaged_rowid)
        took = monotonic() - began
        pause = min(SEARCH_PAUSE_FACTOR * took, MAX_SEARCH_PAUSE_SECONDS)
        self._next_search = monotonic() + pause

    def _window(self, table: str, last_rowid: int) -> Flow[tuple[int | None, list[int]]]:
        """Read the window of a table that begins after `last_rowid`. Returns the rowid after which
        the next one begins, None after the last, and the rowids of damaged rows."""

        def steps() -> Steps[tuple[int | None, list[int]]]:
            rows = yield from self._rows(table, last_rowid, WINDOW_SIZE)
            damaged = [rowid for rowid, row in rows if row.damage]
            return (rows[-1][0] if rows else None), damaged

        return Flow(steps, Mode.read)

    def _rows(
        self, table: str, last_rowid: int, count: int
    ) -> Steps[list[tuple[int, RepairedRow]]]:
        params = {"rowid": last_rowid, "window": count}
        found = cast("Any", (yield Statement(READERS[table], params)))
        now = yield from clock()
        columns = KNOWN_COLUMNS[table]
        return [(rowid, repair(columns, values, now, self._ids)) for rowid, *values in found]

    def _repair(self, table: str, rowid: int) -> Generator[Waiting, Any, None]:
        """Repair a row in a transaction of its own. One that the database refuses to repair is
        deleted, if that loses nothing, so that no search meets it again; else the row stays."""
        for change in (*REPAIRS[table], _give_up):
            try:
                yield self._change(table, rowid, change)
            except (InvalidArgument, UnreadableRow) as error:
                log.error("row %d of %s cannot be repaired: %s", rowid, table, error)
            else:
                return

    def _change(self, table: str, rowid: int, change: RepairRow) -> Flow[None]:
        def steps() -> Steps[None]:
            rows = yield from self._rows(table, rowid - 1, 1)
            # It may have been deleted or repaired since it was found.
            for found, row in rows:
                if found == rowid and row.damage:
                    log.error("%s of %s is damaged: %s", _title(row), table, row.description())
                    if not (yield from change(rowid, row, (yield from clock()), self._ids)):
                        yield from _delete(table, rowid, row)

        return Flow(steps, Mode.write)


def _title(row: RepairedRow) -> str:
    return f"row {row.values.get('name', row.values.get('id'))}"


def _delete(table: str, rowid: int, row: RepairedRow) -> Steps[None]:
    if table not in DELETIONS:
        log.error("%s of %s stays: the database refuses to repair it", _title(row), table)
        return
    log.error("%s of %s is deleted: the database refuses what it held", _title(row), table)
    yield Statement(DELETIONS[table], {"rowid": rowid})


def _repair_action(rowid: int, row: RepairedRow, now: int, ids: NewId) -> Steps[bool]:
    """Repair an action in place if it can be run as it was meant, or is running; else fail it."""
    running = row.values["token"] is not None
    fails = row.lost & RUNNING_COLUMNS if running else row.lost - SIDE_COLUMNS
    if not fails:
        # Only children that wait for a parent have no due time.
        due_at = now if "due_at" in row.lost else row.values["due_at"]
        # A text that was no key of anybody's would be one now.
        key = None if "key" in row.lost else row.values["key"]
        repaired = {**row.values, "due_at": due_at, "key": key}
        if (yield from _update("actions", rowid, repaired)):
            return True
    return (yield from _fail_action(rowid, row, now, ids))


def _fail_action(rowid: int, row: RepairedRow, now: int, ids: NewId) -> Steps[bool]:
    """Move a damaged action to history, as failed; under another id if its own is taken."""
    ending = {"state": State.failed.value, "outcome": Outcome.failed.value, "finished_at": now}
    reason = truncate_error(f"its row was damaged: {row.description()}; {REMEDY}")
    failed = {**row.values, **ending, "error": reason}
    for id_ in (row.values["id"], str(ids())):
        if (yield Statement("insert_damaged", {"row": json.dumps({**failed, "id": id_})})):
            yield Statement(DELETIONS["actions"], {"rowid": rowid})
            return True
    return False


def _repair_history(rowid: int, row: RepairedRow, _now: int, ids: NewId) -> Steps[bool]:
    """Repair a finished action in place; under another id if its own is taken."""
    error = row.values["error"]
    if row.lost - SIDE_COLUMNS:
        reason = truncate_error(f"its row was damaged: {row.description()}")
        error = f"{reason}; {error}" if error else reason
    for id_ in (row.values["id"], str(ids())):
        if (yield from _update("history", rowid, {**row.values, "error": error, "id": id_})):
            return True
    return False


def _repair_queue(rowid: int, row: RepairedRow, now: int, ids: NewId) -> Steps[bool]:
    """Repair a queue, which stays paused; under a name of its own if the one that can be read is
    taken, or is none."""
    name = str(row.values["name"])[:MAX_NAME_LENGTH]
    paused_at = now if "paused_at" in row.lost else row.values["paused_at"]
    for unique in (name, f"{name} {ids()}"):
        repaired = {**row.values, "name": unique, "paused_at": paused_at}
        if unique.strip() and (yield from _update("queues", rowid, repaired)):
            return True
    return False


def _in_place(table: str) -> RepairRow:
    """Return the repair of a row of which every value is replaced by the nearest."""

    def replace(rowid: int, row: RepairedRow, _now: int, _ids: NewId) -> Steps[bool]:
        return (yield from _update(table, rowid, row.values))

    return replace


def _update(table: str, rowid: int, values: Mapping[str, object]) -> Steps[bool]:
    """Return whether no constraint refused the row."""
    params = {"rowid": rowid, "row": json.dumps(values)}
    return bool((yield Statement(UPDATES[table], params)))


def _forget_worker(rowid: int, _row: RepairedRow, _now: int, _ids: NewId) -> Steps[bool]:
    """Delete a worker's row: one that is alive registers again at its next sweep."""
    yield Statement(DELETIONS["workers"], {"rowid": rowid})
    return True


def _forget_traceback(rowid: int, _row: RepairedRow, _now: int, _ids: NewId) -> Steps[bool]:
    """Delete a traceback: its run keeps the error."""
    yield Statement(DELETIONS["tracebacks"], {"rowid": rowid})
    return True


def _give_up(_rowid: int, _row: RepairedRow, _now: int, _ids: NewId) -> Steps[bool]:
    """Leave a row to be deleted, because an error has rolled back its repair."""
    yield from ()
    return False


RepairRow = Callable[[int, RepairedRow, int, NewId], Steps[bool]]
# What to try with a row of each table, until the database refuses none of it.
REPAIRS: Mapping[str, Sequence[RepairRow]] = {
    "actions": (_repair_action, _fail_action),
    "history": (_repair_history,),
    "runs": (_in_place("runs"),),
    "jobs": (_in_place("jobs"),),
    "tracebacks": (_forget_traceback,),
    "workers": (_forget_worker,),
    "queues": (_repair_queue,),
    "audit": (_in_place("audit"),),
    "grants": (_in_place("grants"),),
    "api_keys": (_in_place("api_keys"),),
}
