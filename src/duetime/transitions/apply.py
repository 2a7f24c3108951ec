"""Changing rows that were taken: each once for each value, through the ORM or past it.

Failing: which row is the bad one, and what becomes of it.

Applying: take the rows whose time has come, change them, write that down; all in one
transaction for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, inspect
from sqlalchemy.orm import Session

from duetime.model.clock import monotonic
from duetime.model.transition import RowError, retry_at
from duetime.transitions.batch import Batch, Row, Work, keys_of
from duetime.transitions.commit import commit
from duetime.transitions.errors import excused, is_held, reason
from duetime.transitions.locking import be_brief, begin, begin_writing
from duetime.transitions.probe import look


def change(
    session: Session,
    work: Work,
    now: datetime,
    rows: Sequence[Row],
    models: dict[str, Any] | None = None,
) -> list[Row]:
    """Those of them that were ours to change. Models that are not given are loaded."""
    attempts = claim(session, work, now, rows)
    ours = [row for row in rows if row.text in attempts]
    if not ours:
        return []
    if work.sets_many:
        given = work.statements.values_at(now)
        work.run(session, work.statements.change, duetime_rows=keys_of(ours), **given)
        return _written(session, work, ours, [])
    models = _loaded(session, work, ours) if models is None else models
    # What others of them took along in this transaction, by a cascade, is gone.
    ours = [row for row in ours if row.text in models]
    return _change_models(session, work, now, ours, [models[row.text] for row in ours])


def claim(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> dict[str, int]:
    """Of which rows this value is ours to apply, and how often it failed before."""
    if not rows:
        return {}
    given: dict[str, Any] = {"duetime_now": now}
    if work.statements.on_postgres:
        given["duetime_texts"] = [row.text for row in rows]
        given["duetime_values"] = [row.due_at for row in rows]
    else:
        given["duetime_rows"] = keys_of(rows)
    claimed = work.run(session, work.statements.claim, **given)
    return {one.row_key: one.attempts for one in claimed}


def _loaded(session: Session, work: Work, rows: Sequence[Row]) -> dict[str, Any]:
    found = work.run(session, work.statements.load, duetime_rows=keys_of(rows))
    return models_of(found)


def models_of(found: Sequence[Any]) -> dict[str, Any]:
    """Of rows that were loaded, which have their model first."""
    return {one.duetime_key: one[0] for one in found}


def _change_models(
    session: Session, work: Work, now: datetime, rows: Sequence[Row], models: Sequence[Any]
) -> list[Row]:
    """Through the ORM, so that its listeners see it; one flush for all."""
    target = work.target
    written = {target.attribute(column): value for column, value in target.values(now).items()}
    payloads: list[object] = []
    for model in models:
        payloads += _payloads(target.declared.action, model)
        for attribute, value in written.items():
            setattr(model, attribute, value)
        if target.declared.hard_delete:
            session.delete(model)
    session.flush()
    if target.declared.hard_delete:
        for model in models:
            _remove(session, model)
    return _written(session, work, rows, payloads)


def _payloads(action: Callable[[Any], object] | None, model: object) -> list[object]:
    made = None if action is None else action(model)
    if made is None:
        return []
    return list(made) if isinstance(made, list) else [made]


def _remove(session: Session, model: Any) -> None:
    """From each of its tables, if a listener has made a soft deletion of it."""
    state = inspect(model)
    if state.deleted:
        return
    mapper = state.mapper
    for table in reversed(mapper.tables):
        same = [
            key == getattr(model, mapper.get_property_by_column(key).key)
            for key in table.primary_key
        ]
        session.execute(delete(table).where(*same), bind_arguments={"mapper": mapper})


def _written(
    session: Session, work: Work, rows: Sequence[Row], payloads: Sequence[object]
) -> list[Row]:
    """With what is part of the transaction besides the rows."""
    if work.target.once:
        deletes, statements = work.target.declared.hard_delete, work.statements
        forget = statements.forget if deletes else statements.clear
        work.run(session, forget, duetime_texts=[row.text for row in rows])
    work.write(session, rows, payloads)
    return list(rows)


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
