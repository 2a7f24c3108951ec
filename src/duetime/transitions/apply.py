"""Apply transitions: take the rows that are due, change them and record that in the ledger, all in
one transaction for each batch.

A batch is changed as a whole first. If that fails, it is split into halves until the bad rows are
found; these are recorded in the ledger as failed, and the others are changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from duetime.model.clock import monotonic
from duetime.transitions.batch import BatchResult, DueRow, RowBatch, keys_of
from duetime.transitions.change_rows import change, models_by_key
from duetime.transitions.commit import commit
from duetime.transitions.errors import is_lock_timeout, is_unrelated_to_rows
from duetime.transitions.failed_rows import change_by_halves, fail
from duetime.transitions.locking import begin, begin_writing, shorten_lock_timeout
from duetime.transitions.probe import probe

# A backlog whose rows are not reported is processed without a pause for this long.
BACKLOG_SPELL_SECONDS = 0.1


def apply_due(session: Session, batch: RowBatch) -> BatchResult:
    """Apply and commit one batch, or several of a backlog; find out when a row is due next."""
    if batch.backlog_seen_at is not None:
        return _apply_backlog(session, batch, batch.backlog_seen_at)
    begin(session, batch.target)
    seen = probe(session, batch, batch.size + 1)
    result = _apply_batch(session, batch, seen.now) if seen.due else BatchResult(now=seen.now)
    session.rollback()
    result.truncated = seen.due > batch.size
    # Rows that were deleted, changed or locked since the probe.
    applied = result.changed_count + len(result.errors)
    result.skipped = max(min(seen.due, batch.size) - applied, 0)
    retries = [error.retry_at for error in result.errors if error.retry_at is not None]
    dues = [*retries, *([] if seen.next_due is None else [seen.next_due])]
    result.next_due = min(dues, default=None)
    return result


# -- backlogs ------------------------------------------------------------------------


def _apply_backlog(session: Session, batch: RowBatch, now: datetime) -> BatchResult:
    """Apply the next batch of a backlog. If rows are not reported, go on with further batches for
    a while, as long as every row that is taken is changed."""
    result = _apply_backlog_batch(session, batch, now)
    until = monotonic() + BACKLOG_SPELL_SECONDS
    silent = not batch.reports_rows
    while result.truncated and silent and result.all_changed and monotonic() < until:
        try:
            result.add(_apply_backlog_batch(session, replace(batch, cursor=result.cursor), now))
        except Exception as error:  # noqa: BLE001 - earlier batches are committed and reported
            session.rollback()
            result.stopped_by = error
            break
    return result


def _apply_backlog_batch(session: Session, batch: RowBatch, now: datetime) -> BatchResult:
    """Apply one batch without a probe: if the batch is full, more rows may be due."""
    begin(session, batch.target)
    result = _apply_batch(session, batch, now)
    session.rollback()
    result.truncated = result.taken_count >= batch.size
    # Without the ledger check, rows that were not changed may have been applied before.
    applied = result.changed_count + len(result.errors)
    result.skipped = 0 if batch.skips_ledger_check else result.taken_count - applied
    return result


# -- one batch -----------------------------------------------------------------------


def _apply_batch(session: Session, batch: RowBatch, now: datetime) -> BatchResult:
    """Apply the batch as a whole; if that fails, apply it with care, which finds the bad rows."""
    begin_writing(session, batch.target)
    apply = _apply_by_one_statement if batch.single_statement else _apply_together
    try:
        return apply(session, batch, now)
    except Exception as error:
        session.rollback()
        if is_unrelated_to_rows(error):
            raise
    return _apply_with_care(session, batch, now)


def _apply_by_one_statement(session: Session, batch: RowBatch, now: datetime) -> BatchResult:
    """Find, lock, claim and change all rows of the batch, or none."""
    statements = batch.statements
    params = _take_parameters(batch, now) | statements.values_at(now)
    if batch.reports_rows:
        records = batch.run(session, statements.sweep, **params)
        result = _result(now, [batch.row_of(record) for record in records])
        batch.write_actions(session, result.changed_rows, [])
    else:
        result = BatchResult(now=now)
        unchecked = batch.skips_ledger_check
        sweep = statements.sweep_unchecked if unchecked else statements.sweep_counted
        for last in batch.run(session, sweep, **params):
            result.changed_count = last.duetime_changed_count
            result.taken_count = last.duetime_taken_count
            result.cursor = batch.row_of(last).position
    commit(session, batch.log)
    return result


def _apply_together(session: Session, batch: RowBatch, now: datetime) -> BatchResult:
    """Take the rows, with their models if these are needed, and change them in one flush."""
    models: dict[str, Any] | None = None
    if batch.uses_bulk:
        rows = _take_keys(session, batch, now)
    else:
        records = batch.run(session, batch.statements.take, **_take_parameters(batch, now))
        rows = [batch.row_of(record) for record in records]
        models = models_by_key(records)
    result = _result(now, change(session, batch, now, rows, models), rows)
    commit(session, batch.log)
    return result


def _apply_with_care(
    session: Session, batch: RowBatch, now: datetime, among: Sequence[DueRow] | None = None
) -> BatchResult:
    """Take the keys only, since a row may be impossible to load; then change rows by halves."""
    rows: Sequence[DueRow] = []
    begin_writing(session, batch.target)
    shorten_lock_timeout(session, batch.target)
    try:
        rows = _take_keys(session, batch, now, among)
        split = change_by_halves(session, rows, lambda part: change(session, batch, now, part))
        result = _result(now, split.changed, rows)
        for row, cause in split.bad:
            result.errors += fail(session, batch, now, row, cause)
        commit(session, batch.log)
    except Exception as error:
        session.rollback()
        if is_unrelated_to_rows(error) or not rows:
            raise
        if len(rows) == 1:
            return _fail_row(session, batch, now, rows[0], error)
        return _commit_by_halves(session, batch, now, rows)
    return result


def _commit_by_halves(
    session: Session, batch: RowBatch, now: datetime, rows: Sequence[DueRow]
) -> BatchResult:
    """Apply each half in its own transaction: an error at the commit, such as a deferred
    constraint, does not say which row caused it."""
    half = len(rows) // 2
    result = _apply_with_care(session, batch, now, rows[:half])
    try:
        result.add(_apply_with_care(session, batch, now, rows[half:]))
    except Exception as error:  # noqa: BLE001 - the first half is committed and reported
        session.rollback()
        result.stopped_by = error
    return result


def _fail_row(
    session: Session, batch: RowBatch, now: datetime, row: DueRow, error: Exception
) -> BatchResult:
    """Record, in a transaction of its own, that a single row cannot be committed."""
    result = _result(now, [], [row])
    if not is_lock_timeout(error):
        begin_writing(session, batch.target)
        result.errors = fail(session, batch, now, row, error)
        commit(session, batch.log)
    return result


def _take_keys(
    session: Session, batch: RowBatch, now: datetime, among: Sequence[DueRow] | None = None
) -> list[DueRow]:
    """Lock and return due rows that no other transaction has locked; with `among`, only these."""
    params, take = _take_parameters(batch, now), batch.statements.take_keys
    if among is not None:
        take, params["duetime_rows"] = batch.statements.take_given_keys(), keys_of(among)
    return [batch.row_of(record) for record in batch.run(session, take, **params)]


def _take_parameters(batch: RowBatch, now: datetime) -> dict[str, Any]:
    return {"duetime_now": now, "duetime_limit": batch.size, **batch.cursor_parameters}


def _result(
    now: datetime, changed: list[DueRow], taken: Sequence[DueRow] | None = None
) -> BatchResult:
    taken = changed if taken is None else taken
    return BatchResult(
        now=now,
        changed_rows=changed,
        changed_count=len(changed),
        taken_count=len(taken),
        cursor=taken[-1].position if taken else None,
    )


# -- changing rows -------------------------------------------------------------------


# -- failing rows --------------------------------------------------------------------
