"""Applying: take the rows whose time has come, change them, write that down; all in one
transaction for each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from duetime.model.clock import monotonic
from duetime.transitions.changing import change, models_of
from duetime.transitions.committing import commit
from duetime.transitions.failing import fail, halved
from duetime.transitions.faults import excused, is_held
from duetime.transitions.looking import look
from duetime.transitions.transacting import be_brief, begin, begin_writing
from duetime.transitions.work import Batch, Row, Work, keys_of

# For so many seconds a backlog of which nobody hears is worked off without a pause.
SPELL = 0.1


def apply_due(session: Session, work: Work) -> Batch:
    """One batch, committed, or several of a backlog; and when there is something to do again."""
    if work.since is not None:
        return _backlog(session, work, work.since)
    begin(session, work.target)
    seen = look(session, work, work.batch + 1)
    batch = _applied(session, work, seen.now) if seen.due else Batch(now=seen.now)
    session.rollback()
    batch.truncated = seen.due > work.batch
    # Gone, changed or locked, since they were seen.
    batch.skipped = max(min(seen.due, work.batch) - batch.count - len(batch.errors), 0)
    again = [one.retry_at for one in batch.errors if one.retry_at is not None]
    to_do = [*again, *([] if seen.next_due is None else [seen.next_due])]
    batch.next_due = min(to_do, default=None)
    return batch


def _backlog(session: Session, work: Work, now: datetime) -> Batch:
    """The next of it; and of what nobody hears, as many batches as a spell allows, if all that
    is taken is changed."""
    batch = _next_of_backlog(session, work, now)
    until = monotonic() + SPELL
    while batch.truncated and not work.heard and batch.whole and monotonic() < until:
        try:
            batch.add(_next_of_backlog(session, replace(work, cursor=batch.cursor), now))
        except Exception as error:  # noqa: BLE001 - the others are committed, and are told of
            session.rollback()
            batch.fault = error
            break
    return batch


def _next_of_backlog(session: Session, work: Work, now: datetime) -> Batch:
    """Without a look: if the batch is full, there may be more."""
    begin(session, work.target)
    batch = _applied(session, work, now)
    session.rollback()
    batch.truncated = batch.taken >= work.batch
    # Of those that were taken unasked, the ledger may have known the others.
    batch.skipped = 0 if work.unasked else batch.taken - batch.count - len(batch.errors)
    return batch


def _applied(session: Session, work: Work, now: datetime) -> Batch:
    """All at once; if that fails, with care, so that bad rows are found."""
    begin_writing(session, work.target)
    try:
        return (_by_one_statement if work.at_once else _together)(session, work, now)
    except Exception as error:
        session.rollback()
        if excused(error):
            raise
    return _with_care(session, work, now)


def _by_one_statement(session: Session, work: Work, now: datetime) -> Batch:
    """Find, lock, claim and change them: all or none of them."""
    statements = work.statements
    given = _given(work, now) | statements.values_at(now)
    if work.heard:
        found = work.run(session, statements.sweep, **given)
        batch = _batch(now, [work.row_of(one) for one in found])
        work.write(session, batch.changed, [])
    else:
        batch = Batch(now=now)
        sweep = statements.sweep_unasked if work.unasked else statements.sweep_unheard
        for last in work.run(session, sweep, **given):
            batch.count, batch.taken = last.duetime_count, last.duetime_number
            batch.cursor = work.row_of(last).place
    commit(session, work.log)
    return batch


def _together(session: Session, work: Work, now: datetime) -> Batch:
    """Take them, with their models if these are needed, and change them by one flush."""
    models: dict[str, Any] | None = None
    if work.sets_many:
        rows = _keys_taken(session, work, now)
    else:
        found = work.run(session, work.statements.take, **_given(work, now))
        rows = [work.row_of(one) for one in found]
        models = models_of(found)
    batch = _batch(now, change(session, work, now, rows, models), rows)
    commit(session, work.log)
    return batch


def _with_care(
    session: Session, work: Work, now: datetime, among: Sequence[Row] | None = None
) -> Batch:
    """Take their keys only, since one may be a row that cannot be loaded; then go by halves."""
    rows: Sequence[Row] = []
    begin_writing(session, work.target)
    be_brief(session, work.target)
    try:
        rows = _keys_taken(session, work, now, among)
        done = halved(session, rows, lambda some: change(session, work, now, some))
        batch = _batch(now, done.changed, rows)
        batch.errors = [one for row, why in done.bad for one in fail(session, work, now, row, why)]
        commit(session, work.log)
    except Exception as error:
        session.rollback()
        if excused(error) or not rows:
            raise
        if len(rows) == 1:
            return _refused(session, work, now, rows[0], error)
        return _by_halves(session, work, now, rows)
    return batch


def _by_halves(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> Batch:
    """What only the commit refuses, such as a constraint that is checked there: each half in a
    transaction of its own."""
    half = len(rows) // 2
    batch = _with_care(session, work, now, rows[:half])
    try:
        batch.add(_with_care(session, work, now, rows[half:]))
    except Exception as error:  # noqa: BLE001 - the first half is committed, and is told of
        session.rollback()
        batch.fault = error
    return batch


def _refused(session: Session, work: Work, now: datetime, row: Row, error: Exception) -> Batch:
    """The row alone cannot be committed: that is written down by itself."""
    batch = _batch(now, [], [row])
    if not is_held(error):
        begin_writing(session, work.target)
        batch.errors = fail(session, work, now, row, error)
        commit(session, work.log)
    return batch


def _keys_taken(
    session: Session, work: Work, now: datetime, among: Sequence[Row] | None = None
) -> list[Row]:
    """Those that are due and locked by nobody else, or those of some."""
    given, take = _given(work, now), work.statements.take_keys
    if among is not None:
        take, given["duetime_rows"] = work.statements.take_keys_among(), keys_of(among)
    return [work.row_of(one) for one in work.run(session, take, **given)]


def _given(work: Work, now: datetime) -> dict[str, Any]:
    return {"duetime_now": now, "duetime_limit": work.batch, **work.place}


def _batch(now: datetime, changed: list[Row], taken: Sequence[Row] | None = None) -> Batch:
    taken = changed if taken is None else taken
    place = taken[-1].place if taken else None
    return Batch(now=now, changed=changed, count=len(changed), taken=len(taken), cursor=place)
