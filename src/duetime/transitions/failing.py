"""Failing: which row is the bad one, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from duetime.model.transition import RowError, retry_at
from duetime.transitions.faults import reason, will_pass
from duetime.transitions.looking import run
from duetime.transitions.work import Change, Row, Work


def halved(
    session: Session, rows: Sequence[Row], change: Change
) -> list[tuple[Row, BaseException]]:
    """Change them all, or those that can be: the others, found by halves, with their errors."""
    if not rows:
        return []
    try:
        with session.begin_nested():
            change(rows)
    except Exception as error:
        if will_pass(error):
            raise
        if len(rows) == 1:
            return [(rows[0], error)]
    else:
        return []
    half = len(rows) // 2
    return [*halved(session, rows[:half], change), *halved(session, rows[half:], change)]


def fail(
    session: Session, work: Work, now: datetime, row: Row, error: BaseException, tried: int
) -> RowError:
    """Written into the line of the ledger that claimed it."""
    attempts = tried + 1
    again = retry_at(attempts, now, work.retry, work.chance())
    told = {"applied_at": None, "attempts": attempts, "retry_at": again, "error": reason(error)}
    run(session, work, work.statements.fail.values(told), duetime_text=row.text)
    return RowError(
        model=work.target.model,
        column=work.target.attribute(work.target.column),
        id=row.id,
        error=reason(error),
        attempts=attempts,
        retry_at=again,
    )
