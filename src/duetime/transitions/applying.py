"""Applying: take the rows whose time has come, change them, write that down; all in one
transaction for each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from duetime.transitions.failing import fail, halved
from duetime.transitions.faults import will_pass
from duetime.transitions.instant import as_utc
from duetime.transitions.looking import look, place_of, run
from duetime.transitions.transacting import begin, begin_writing
from duetime.transitions.work import Batch, Change, Row, Work, keys_of


def apply_due(session: Session, work: Work) -> Batch:
    """One batch, committed; and when there is something to do again."""
    begin(session, work.target)
    if work.since is not None:
        return _next_of_backlog(session, work, work.since)
    seen = look(session, work, work.batch + 1)
    batch = _applied(session, work, seen.now) if seen.due else Batch(now=seen.now)
    session.rollback()
    batch.truncated = seen.due > work.batch
    # Gone, changed or locked, since they were seen.
    batch.skipped = max(min(seen.due, work.batch) - batch.count - len(batch.errors), 0)
    again = [one.retry_at for one in batch.errors if one.retry_at is not None]
    known = [*again, *([] if seen.next_due is None else [seen.next_due])]
    batch.next_due = min(known, default=None)
    return batch


def _next_of_backlog(session: Session, work: Work, now: datetime) -> Batch:
    """Without a look: if the batch is full, there may be more."""
    batch = _applied(session, work, now)
    session.rollback()
    batch.truncated = batch.count + len(batch.errors) >= work.batch
    return batch


def _applied(session: Session, work: Work, now: datetime) -> Batch:
    begin_writing(session, work.target)
    if work.sets_many and work.statements.on_postgres:
        try:
            return _at_once(session, work, now)
        except Exception as error:
            session.rollback()
            if will_pass(error):
                raise
            begin_writing(session, work.target)
    return _in_turn(session, work, now)


def _at_once(session: Session, work: Work, now: datetime) -> Batch:
    """Find, lock, claim and change them by one statement: all or none of them."""
    made = work.statements
    given = {"duetime_now": now, "duetime_limit": work.batch, **place_of(work)}
    given |= made.values_at(now)
    if work.heard:
        found = run(session, work, made.sweep, **given)
        batch = _batch(now, [_row(key, due, text) for *key, due, text in found])
        work.write(session, batch.changed, [])
    else:
        batch = Batch(now=now)
        for *key, due, text, count in run(session, work, made.sweep_unheard, **given):
            batch.count, batch.cursor = count, _row(key, due, text).place
    session.commit()
    return batch


def _in_turn(
    session: Session,
    work: Work,
    now: datetime,
    among: Sequence[Row] | None = None,
    *,
    careful: bool = False,
) -> Batch:
    """Take them, then change them: all at once, or `careful`ly, so that bad ones are found."""
    rows: Sequence[Row] = []
    try:
        rows, change = _taken(session, work, now, among)
        batch = _changed(session, work, now, rows, change, careful)
        session.commit()
    except Exception as error:
        session.rollback()
        if will_pass(error) or not rows:
            raise
        begin_writing(session, work.target)
        if not careful:
            return _in_turn(session, work, now, rows, careful=True)
        if len(rows) == 1:
            return _refused(session, work, now, rows[0], error)
        return _by_halves(session, work, now, rows)
    return batch


def _by_halves(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> Batch:
    """What only the commit refuses, such as a constraint that is checked there: each half in a
    transaction of its own."""
    half = len(rows) // 2
    batch = _in_turn(session, work, now, rows[:half], careful=True)
    begin_writing(session, work.target)
    batch.add(_in_turn(session, work, now, rows[half:], careful=True))
    return batch


def _refused(session: Session, work: Work, now: datetime, row: Row, error: Exception) -> Batch:
    """The row alone cannot be committed: that is written down by itself."""
    batch, attempts = _batch(now, []), claim(session, work, now, [row])
    if row.text in attempts:
        batch.errors = [fail(session, work, now, row, error, attempts[row.text])]
    session.commit()
    return batch


def _taken(
    session: Session, work: Work, now: datetime, among: Sequence[Row] | None
) -> tuple[list[Row], Change]:
    """Those that are due and locked by nobody else, or those of some; and how to change them."""
    given: dict[str, Any] = {"duetime_now": now, "duetime_limit": work.batch, **place_of(work)}
    if among is not None:
        given["duetime_rows"] = keys_of(among)
    return (_keys_taken if work.sets_many else _models_taken)(session, work, now, given)


def _models_taken(
    session: Session, work: Work, now: datetime, given: dict[str, Any]
) -> tuple[list[Row], Change]:
    made, mapper = work.statements, work.target.mapper
    take = made.take_among() if "duetime_rows" in given else made.take
    found = run(session, work, take, **given)
    loaded = {
        _row(mapper.primary_key_from_instance(model), due, text): model
        for model, due, text in found
    }

    def change(some: Sequence[Row]) -> None:
        _change_models(session, work, now, [(row, loaded[row]) for row in some])

    return list(loaded), change


def _keys_taken(
    session: Session, work: Work, now: datetime, given: dict[str, Any]
) -> tuple[list[Row], Change]:
    made = work.statements
    take = made.take_keys_among() if "duetime_rows" in given else made.take_keys
    rows = [_row(key, due, text) for due, text, _, *key in run(session, work, take, **given)]

    def change(some: Sequence[Row]) -> None:
        run(session, work, made.change, duetime_rows=keys_of(some), **made.values_at(now))
        _forget(session, work, some)
        work.write(session, some, [])

    return rows, change


def _row(key: Sequence[Any], due: datetime, text: str) -> Row:
    return Row(tuple(key), as_utc(due), text, (due, *key))


def _changed(
    session: Session,
    work: Work,
    now: datetime,
    rows: Sequence[Row],
    change: Change,
    careful: bool,
) -> Batch:
    attempts = claim(session, work, now, rows)
    claimed = [row for row in rows if row.text in attempts]
    bad: list[tuple[Row, BaseException]] = []
    if careful:
        bad = halved(session, claimed, change)
    elif claimed:
        change(claimed)
    failed = {row for row, _ in bad}
    batch = _batch(now, [row for row in claimed if row not in failed])
    batch.errors = [fail(session, work, now, row, error, attempts[row.text]) for row, error in bad]
    batch.cursor = rows[-1].place if rows else None
    return batch


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
    claimed = run(session, work, work.statements.claim, **given)
    return {one.row_key: one.attempts for one in claimed}


def _change_models(
    session: Session, work: Work, now: datetime, rows: Sequence[tuple[Row, Any]]
) -> None:
    """Through the ORM, so that its listeners see it; one flush for all."""
    target = work.target
    written = {target.attribute(column): value for column, value in target.values(now).items()}
    payloads: list[object] = []
    for _, model in rows:
        payloads += _payloads(target.declared.action, model)
        for attribute, value in written.items():
            setattr(model, attribute, value)
        if target.declared.hard_delete:
            session.delete(model)
    session.flush()
    some = [row for row, _ in rows]
    if target.declared.hard_delete:
        # Listeners may have made a soft deletion of it.
        run(session, work, work.statements.change, duetime_rows=keys_of(some))
    _forget(session, work, some)
    work.write(session, some, payloads)


def _payloads(action: Callable[[Any], object] | None, model: object) -> list[object]:
    made = None if action is None else action(model)
    if made is None:
        return []
    return list(made) if isinstance(made, list) else [made]


def _forget(session: Session, work: Work, rows: Sequence[Row]) -> None:
    if work.target.declared.hard_delete:
        texts = [row.text for row in rows]
        run(session, work, work.statements.forget, duetime_texts=texts)


def _batch(now: datetime, rows: list[Row]) -> Batch:
    place = rows[-1].place if rows else None
    return Batch(now=now, changed=rows, count=len(rows), cursor=place)
