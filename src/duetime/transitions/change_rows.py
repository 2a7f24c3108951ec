"""Change taken rows and record that in the ledger: through the ORM, or by one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, inspect
from sqlalchemy.orm import Session

from duetime.transitions.batch import DueRow, RowBatch, keys_of


def change(
    session: Session,
    batch: RowBatch,
    now: datetime,
    rows: Sequence[DueRow],
    models: dict[str, Any] | None = None,
) -> list[DueRow]:
    """Claim and change rows; return those whose claim succeeded. `models` are loaded if None."""
    attempts = claim(session, batch, now, rows)
    ours = [row for row in rows if row.row_key in attempts]
    if not ours:
        return []
    if batch.uses_bulk:
        values = batch.statements.values_at(now)
        batch.run(session, batch.statements.change_rows, duetime_rows=keys_of(ours), **values)
        return _finish_change(session, batch, ours, [])
    models = _load_models(session, batch, ours) if models is None else models
    # A cascade in this transaction may have deleted some of the rows.
    ours = [row for row in ours if row.row_key in models]
    return _change_models(session, batch, now, ours, [models[row.row_key] for row in ours])


def claim(
    session: Session, batch: RowBatch, now: datetime, rows: Sequence[DueRow]
) -> dict[str, int]:
    """Claim the rows' current values in the ledger. Return the keys of the claimed rows, each with
    the number of failed attempts so far."""
    if not rows:
        return {}
    params: dict[str, Any] = {"duetime_now": now}
    if batch.statements.on_postgres:
        params["duetime_row_keys"] = [row.row_key for row in rows]
        params["duetime_values"] = [row.due_at for row in rows]
    else:
        params["duetime_rows"] = keys_of(rows)
    entries = batch.run(session, batch.statements.claim, **params)
    return {entry.row_key: entry.attempts for entry in entries}


def _load_models(session: Session, batch: RowBatch, rows: Sequence[DueRow]) -> dict[str, Any]:
    return models_by_key(batch.run(session, batch.statements.load, duetime_rows=keys_of(rows)))


def models_by_key(records: Sequence[Any]) -> dict[str, Any]:
    """Return the models of loaded rows, which come first in each result row."""
    return {record.duetime_key: record[0] for record in records}


def _change_models(
    session: Session, batch: RowBatch, now: datetime, rows: Sequence[DueRow], models: Sequence[Any]
) -> list[DueRow]:
    """Change rows through the ORM, so that its listeners run, in one flush."""
    target = batch.target
    written = {target.attribute(column): value for column, value in target.values_at(now).items()}
    payloads: list[object] = []
    for model in models:
        payloads += _payloads_of(target.declared.action, model)
        for attribute, value in written.items():
            setattr(model, attribute, value)
        if target.declared.hard_delete:
            session.delete(model)
    session.flush()
    if target.declared.hard_delete:
        for model in models:
            _hard_delete(session, model)
    return _finish_change(session, batch, rows, payloads)


def _payloads_of(action: Callable[[Any], object] | None, model: object) -> list[object]:
    payload = None if action is None else action(model)
    if payload is None:
        return []
    return list(payload) if isinstance(payload, list) else [payload]


def _hard_delete(session: Session, model: Any) -> None:
    """Delete the row from each of its tables, if a listener turned the ORM's delete into a soft
    delete."""
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


def _finish_change(
    session: Session, batch: RowBatch, rows: Sequence[DueRow], payloads: Sequence[object]
) -> list[DueRow]:
    """Delete ledger entries that are no longer needed, and insert actions, in this transaction."""
    if batch.target.applies_once:
        deletes, statements = batch.target.declared.hard_delete, batch.statements
        cleanup = statements.delete_row_entries if deletes else statements.delete_column_entries
        batch.run(session, cleanup, duetime_row_keys=[row.row_key for row in rows])
    batch.write_actions(session, rows, payloads)
    return list(rows)
