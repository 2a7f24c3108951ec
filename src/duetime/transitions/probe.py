"""Looking: how much is due, and when there is something to do again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from duetime.model.transition import Pending
from duetime.transitions.batch import Work
from duetime.transitions.locking import SYSTEM_CLOCK, begin
from duetime.transitions.timestamps import as_utc

MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Seen:
    now: datetime
    due: int
    next_due: datetime | None


def look(session: Session, work: Work, most: int) -> Seen:
    """Rows are counted up to a limit: more would have to be read."""
    now = work.now
    if now is None and not work.statements.on_postgres:
        now = SYSTEM_CLOCK.now()
    given = {"duetime_now": now, "duetime_limit": most, **work.place}
    (found,) = work.run(session, work.statements.look, **given)
    nexts = [one for one in (found.next_due, found.next_retry) if one is not None]
    return Seen(found.now, found.due, min(map(as_utc, nexts), default=None))


def pending(session: Session, work: Work) -> Pending:
    begin(session, work.target)
    seen = look(session, work, MOST_COUNTED)
    (failed,) = work.run(session, work.statements.count_failed())
    return Pending(
        model=work.target.model,
        column=work.target.attribute(work.target.column),
        due=seen.due,
        next_due=seen.next_due,
        retrying=failed.retrying,
        parked=failed.parked,
    )
