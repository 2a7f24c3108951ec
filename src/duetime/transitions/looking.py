"""Looking: when there is something to do again, and how much waits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Executable, Result
from sqlalchemy.orm import Session

from duetime.model.transition import Pending
from duetime.transitions.instant import as_utc, to_bare
from duetime.transitions.transacting import begin, read_clock
from duetime.transitions.work import Row, Work

MOST_COUNTED = 10_000


def look(session: Session, work: Work) -> Pending:
    """Rows are counted up to ten thousand: more would have to be read."""
    begin(session, work.target)
    now, made = work.now or read_clock(session, work.target), work.statements
    counted = {**times_of(work, now), "duetime_limit": MOST_COUNTED}
    due = run(session, work, made.count_due(), **counted).scalar_one()
    failed = run(session, work, made.count_failed()).one()
    return Pending(
        model=work.target.model,
        column=work.target.attribute(work.target.column),
        due=due,
        next_due=look_ahead(session, work, now),
        retrying=failed.retrying,
        parked=failed.parked,
    )


def look_ahead(session: Session, work: Work, now: datetime) -> datetime | None:
    made, column = work.statements, work.target.column
    due = run(session, work, made.next_due, duetime_now=to_bare(now, column)).scalar()
    again: datetime | None = run(session, work, made.next_retry, duetime_instant=now).scalar()
    known = [one for one in (None if due is None else as_utc(due), again) if one is not None]
    return min(known, default=None)


def times_of(work: Work, now: datetime) -> dict[str, Any]:
    return {"duetime_now": to_bare(now, work.target.column), "duetime_instant": now}


def run(session: Session, work: Work, statement: Executable, **params: Any) -> Result[Any]:
    return session.execute(statement, params, bind_arguments={"mapper": work.target.mapper})


def keys_of(rows: Iterable[Row]) -> list[Any]:
    return [row.id for row in rows]
