"""Probes: how many rows are due, and when the next one is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from duetime.model.transition import Pending
from duetime.transitions.batch import RowBatch
from duetime.transitions.locking import SYSTEM_CLOCK, begin
from duetime.transitions.timestamps import as_utc

MAX_COUNTED_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class ProbeResult:
    now: datetime
    due: int
    next_due: datetime | None


def probe(session: Session, batch: RowBatch, limit: int) -> ProbeResult:
    """Count due rows up to `limit`, since each counted row has to be read."""
    now = batch.now
    if now is None and not batch.statements.on_postgres:
        now = SYSTEM_CLOCK.now()
    params = {"duetime_now": now, "duetime_limit": limit, **batch.cursor_parameters}
    (record,) = batch.run(session, batch.statements.probe, **params)
    dues = [due for due in (record.next_due, record.next_retry) if due is not None]
    return ProbeResult(record.now, record.due, min(map(as_utc, dues), default=None))


def pending(session: Session, batch: RowBatch) -> Pending:
    begin(session, batch.target)
    seen = probe(session, batch, MAX_COUNTED_ROWS)
    (failed,) = batch.run(session, batch.statements.count_failed())
    return Pending(
        model=batch.target.model,
        column=batch.target.attribute(batch.target.column),
        due=seen.due,
        next_due=seen.next_due,
        retrying=failed.retrying,
        parked=failed.parked,
    )
