"""Parked rows: those that failed for good, until they get a new time or are retried by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from duetime.model.transition import ParkedRow
from duetime.transitions.batch import RowBatch
from duetime.transitions.commit import commit
from duetime.transitions.locking import SYSTEM_CLOCK, begin, begin_writing
from duetime.transitions.row_key import key_parameters

CHUNK_SIZE = 500
# Entries of rows that were corrected by hand are examined as well, and not shown.
MAX_EXAMINED = 20_000

# Writes into the audit, before the commit, that these rows are retried.
AuditRetry = Callable[[Sequence[ParkedRow]], None]


@dataclass(frozen=True, slots=True)
class ParkedPage:
    """Parked rows of a target with their ledger keys, and the key to go on after; None at the
    end."""

    rows: list[tuple[str, ParkedRow]]
    after: str | None


def find_parked(session: Session, batch: RowBatch, after: str, limit: int) -> ParkedPage:
    """Return the next parked rows after a ledger key, in the order of their keys."""
    begin(session, batch.target)
    page = _page(session, batch, after, limit)
    session.rollback()
    return page


def retry_parked(
    session: Session, batch: RowBatch, after: str, ids: Sequence[Any] | None, audit: AuditRetry
) -> tuple[int, str | None]:
    """Let the next parked rows be tried again, or those of the given primary keys. Return how many,
    and the key to go on after."""
    begin_writing(session, batch.target)
    page = _page(session, batch, after, CHUNK_SIZE) if ids is None else _named(session, batch, ids)
    retried = _release(session, batch, page.rows)
    if retried:
        audit(retried)
        commit(session, batch.log)
    session.rollback()
    return len(retried), page.after


def _page(session: Session, batch: RowBatch, after: str, limit: int) -> ParkedPage:
    found: list[tuple[str, ParkedRow]] = []
    for _ in range(MAX_EXAMINED // CHUNK_SIZE):
        keys = _entry_keys(session, batch, after)
        found += _rows_of(session, batch, keys) if keys else []
        if len(found) > limit:
            return ParkedPage(found[:limit], found[limit - 1][0])
        if len(keys) < CHUNK_SIZE:
            return ParkedPage(found, None)
        after = keys[-1]
    return ParkedPage(found, after)


def _entry_keys(session: Session, batch: RowBatch, after: str) -> list[str]:
    params = {"duetime_row_key": after, "duetime_limit": CHUNK_SIZE}
    return [entry.row_key for entry in batch.run(session, batch.statements.parked_keys, **params)]


def _rows_of(session: Session, batch: RowBatch, keys: list[str]) -> list[tuple[str, ParkedRow]]:
    statements = batch.statements
    params = key_parameters(batch.target.keys, keys, statements.dialect)
    return _parked(batch, batch.run(session, statements.parked_rows, **params))


def _named(session: Session, batch: RowBatch, ids: Sequence[Any]) -> ParkedPage:
    found = batch.run(session, batch.statements.parked_named, duetime_rows=list(ids))
    return ParkedPage(_parked(batch, found), None)


def _parked(batch: RowBatch, records: Iterable[Any]) -> list[tuple[str, ParkedRow]]:
    return [(record.duetime_key, _row(batch, record)) for record in records]


def _row(batch: RowBatch, record: Any) -> ParkedRow:
    row, target = batch.row_of(record), batch.target
    return ParkedRow(
        model=target.model,
        table=batch.statements.table_name,
        column=target.attribute(target.column),
        id=row.id,
        due_at=row.due_at,
        error=record.error or "",
        attempts=record.attempts,
    )


def _release(
    session: Session, batch: RowBatch, rows: Sequence[tuple[str, ParkedRow]]
) -> list[ParkedRow]:
    if not rows:
        return []
    on_postgres = batch.statements.on_postgres
    now = SYSTEM_CLOCK.now() if batch.now is None and not on_postgres else batch.now
    params = {"duetime_row_keys": [key for key, _ in rows], "duetime_now": now}
    released = batch.run(session, batch.statements.retry_parked, **params)
    keys = {record.row_key for record in released}
    return [row for key, row in rows if key in keys]
