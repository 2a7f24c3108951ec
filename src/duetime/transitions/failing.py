"""Failing: which row is the bad one, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from duetime.model.transition import RowError, retry_at
from duetime.transitions.changing import claim
from duetime.transitions.faults import excused, is_held, reason
from duetime.transitions.work import Row, Work


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows that were changed, and bad ones with their errors; in neither are those that
    somebody holds, or that are not ours."""

    changed: list[Row] = field(default_factory=list)
    bad: list[tuple[Row, Exception]] = field(default_factory=list)


def halved(
    session: Session, rows: Sequence[Row], change: Callable[[Sequence[Row]], list[Row]]
) -> Sorted:
    """Change them all, or those that can be: the others are found by halves."""
    if not rows:
        return Sorted()
    try:
        with session.begin_nested():
            return Sorted(changed=change(rows))
    except Exception as error:
        if excused(error):
            raise
        if len(rows) == 1:
            return Sorted(bad=[] if is_held(error) else [(rows[0], error)])
    half = len(rows) // 2
    first, second = halved(session, rows[:half], change), halved(session, rows[half:], change)
    return Sorted(first.changed + second.changed, first.bad + second.bad)


def fail(
    session: Session, work: Work, now: datetime, row: Row, error: BaseException
) -> list[RowError]:
    """Written into the ledger, if this value is still ours."""
    claimed = claim(session, work, now, [row])
    return [_failed(session, work, now, row, error, tried) for tried in claimed.values()]


def _failed(
    session: Session, work: Work, now: datetime, row: Row, error: BaseException, tried: int
) -> RowError:
    attempts = tried + 1
    again = retry_at(attempts, now, work.retry, work.chance())
    told = {"applied_at": None, "attempts": attempts, "retry_at": again, "error": reason(error)}
    work.run(session, work.statements.fail.values(told), duetime_text=row.text)
    return RowError(
        model=work.target.model,
        column=work.target.attribute(work.target.column),
        id=row.id,
        error=reason(error),
        attempts=attempts,
        retry_at=again,
    )
