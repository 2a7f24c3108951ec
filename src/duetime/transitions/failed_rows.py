"""Find the rows of a batch that cannot be changed, and record their failures in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from duetime.model.transition import RowError, retry_at
from duetime.transitions.batch import DueRow, RowBatch
from duetime.transitions.change_rows import claim
from duetime.transitions.errors import error_text, is_lock_timeout, is_unrelated_to_rows


@dataclass(frozen=True, slots=True)
class SplitResult:
    """Rows that were changed, and bad rows with their errors. Rows that another transaction has
    locked, or whose claim failed, are in neither list."""

    changed: list[DueRow] = field(default_factory=list)
    bad: list[tuple[DueRow, Exception]] = field(default_factory=list)


def change_by_halves(
    session: Session, rows: Sequence[DueRow], change: Callable[[Sequence[DueRow]], list[DueRow]]
) -> SplitResult:
    """Change all rows, or those that can be changed: halving the rows finds the others."""
    if not rows:
        return SplitResult()
    try:
        with session.begin_nested():
            return SplitResult(changed=change(rows))
    except Exception as error:
        if is_unrelated_to_rows(error):
            raise
        if len(rows) == 1:
            return SplitResult(bad=[] if is_lock_timeout(error) else [(rows[0], error)])
    half = len(rows) // 2
    first = change_by_halves(session, rows[:half], change)
    second = change_by_halves(session, rows[half:], change)
    return SplitResult(first.changed + second.changed, first.bad + second.bad)


def fail(
    session: Session, batch: RowBatch, now: datetime, row: DueRow, error: BaseException
) -> list[RowError]:
    """Record the failure in the ledger, if the row's current value can still be claimed."""
    claimed = claim(session, batch, now, [row])
    return [
        _record_failure(session, batch, now, row, error, failures) for failures in claimed.values()
    ]


def _record_failure(
    session: Session, batch: RowBatch, now: datetime, row: DueRow, error: BaseException, before: int
) -> RowError:
    attempts, text = before + 1, error_text(error)
    again = retry_at(attempts, now, batch.retry, batch.chance(), error)
    entry = {"applied_at": None, "attempts": attempts, "retry_at": again, "error": text}
    failed = batch.statements.mark_failed.values(entry)
    batch.run(session, failed, duetime_row_key=row.row_key)
    failure = RowError(
        model=batch.target.model,
        column=batch.target.attribute(batch.target.column),
        id=row.id,
        error=text,
        attempts=attempts,
        retry_at=again,
    )
    if again is None:
        batch.row_parked(session, failure)
    return failure
