"""Applying: find the rows whose time has come, take them, change them, write that down; all in
one transaction for each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from duetime.model.transition import RowError, retry_at
from duetime.transitions.faults import reason, will_pass
from duetime.transitions.instant import as_utc
from duetime.transitions.looking import keys_of, look_ahead, run, times_of
from duetime.transitions.transacting import begin, begin_writing, read_clock
from duetime.transitions.work import Batch, Row, Work

Change = Callable[[Sequence[Row]], None]


def apply_due(session: Session, work: Work) -> Batch:
    """One batch, committed; and when there is something to do again."""
    begin(session, work.target)
    now = work.now or read_clock(session, work.target)
    rows = _find(session, work, now)
    chosen = rows[: work.batch]
    batch = _applied(session, work, now, chosen) if chosen else Batch(now=now)
    batch.truncated = len(rows) > len(chosen)
    if batch.truncated:
        batch.cursor = chosen[-1].place
    else:
        batch.next_due = look_ahead(session, work, now)
    session.rollback()
    return batch


def _find(session: Session, work: Work, now: datetime) -> list[Row]:
    """One more than a batch, to know whether there are more."""
    due = work.statements.due
    if work.cursor is not None:
        due = work.statements.after(due, work.cursor)
    found = run(session, work, due, **times_of(work, now), duetime_limit=work.batch + 1)
    return [_row(one) for one in found]


def _row(found: Sequence[Any]) -> Row:
    *key, due, text = found
    return Row(tuple(key), as_utc(due), text, (due, *key))


def _applied(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> Batch:
    """What only the commit refuses, such as a constraint that is checked there, is found by
    halves too, each in a transaction of its own."""
    begin_writing(session, work.target)
    try:
        batch = _in_transaction(session, work, now, rows)
        session.commit()
    except Exception as error:
        session.rollback()
        if will_pass(error):
            raise
        if len(rows) == 1:
            return _refused(session, work, now, rows[0], error)
    else:
        return batch
    half = len(rows) // 2
    batch = _applied(session, work, now, rows[:half])
    batch.add(_applied(session, work, now, rows[half:]))
    return batch


def _in_transaction(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> Batch:
    present, change = _taken(session, work, now, rows)
    attempts = _claim(session, work, now, present)
    claimed = [row for row in present if row.text in attempts]
    bad = halved(session, claimed, change)
    failed = {id(row) for row, _ in bad}
    return Batch(
        now=now,
        changed=[row for row in claimed if id(row) not in failed],
        errors=[_fail(session, work, now, row, error, attempts[row.text]) for row, error in bad],
        skipped=len(rows) - len(claimed),
    )


def _taken(
    session: Session, work: Work, now: datetime, rows: Sequence[Row]
) -> tuple[list[Row], Change]:
    """Those that are still there, still due, and locked by nobody else; and how to change them."""
    if work.bulk and work.target.declared.action is None:
        return _taken_in_bulk(session, work, now, rows)
    mapper = work.target.mapper
    take = select(mapper.class_).from_statement(work.statements.take)
    among: dict[str, Any] = {**times_of(work, now), "duetime_rows": keys_of(rows)}
    found = run(session, work, take, **among).scalars()
    loaded = {tuple(mapper.primary_key_from_instance(one)): one for one in found}

    def change(some: Sequence[Row]) -> None:
        _change_rows(session, work, now, [(row, loaded[row.key]) for row in some])

    return [row for row in rows if row.key in loaded], change


def _taken_in_bulk(
    session: Session, work: Work, now: datetime, rows: Sequence[Row]
) -> tuple[list[Row], Change]:
    made = work.statements
    among: dict[str, Any] = {**times_of(work, now), "duetime_rows": keys_of(rows)}
    found = {tuple(one) for one in run(session, work, made.take_keys, **among)}

    def change(some: Sequence[Row]) -> None:
        run(session, work, made.change(now), duetime_rows=keys_of(some))
        _settle(session, work, some, [])

    return [row for row in rows if row.key in found], change


def _change_rows(
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
        run(session, work, work.statements.change(now), duetime_rows=keys_of(some))
    _settle(session, work, some, payloads)


def _payloads(action: Callable[[Any], object] | None, model: object) -> list[object]:
    made = None if action is None else action(model)
    if made is None:
        return []
    return list(made) if isinstance(made, list) else [made]


def _settle(session: Session, work: Work, rows: Sequence[Row], payloads: Sequence[object]) -> None:
    if work.target.declared.hard_delete:
        texts = [row.text for row in rows]
        run(session, work, work.statements.forget, duetime_texts=texts)
    work.outbox(session, payloads, [work.event(row) for row in rows])


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


# -- the ledger ------------------------------------------------------------------------------


def _claim(session: Session, work: Work, now: datetime, rows: Sequence[Row]) -> dict[str, int]:
    """Of which rows this value is ours to apply, and how often it failed before."""
    if not rows:
        return {}
    given = {"duetime_instant": now, "duetime_rows": keys_of(rows)}
    claimed = run(session, work, work.statements.claim, **given)
    return {one.row_key: one.attempts for one in claimed}


def _fail(
    session: Session, work: Work, now: datetime, row: Row, error: BaseException, tried: int
) -> RowError:
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


def _refused(session: Session, work: Work, now: datetime, row: Row, error: BaseException) -> Batch:
    """The row alone cannot be committed: that is written down by itself."""
    begin_writing(session, work.target)
    attempts = _claim(session, work, now, [row])
    if row.text not in attempts:
        session.rollback()
        return Batch(now=now, skipped=1)
    failed = _fail(session, work, now, row, error, attempts[row.text])
    session.commit()
    return Batch(now=now, errors=[failed])
