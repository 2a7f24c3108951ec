"""Changing rows that were taken: each once for each value, through the ORM or past it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, inspect
from sqlalchemy.orm import Session

from duetime.transitions.work import Row, Work, keys_of


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
