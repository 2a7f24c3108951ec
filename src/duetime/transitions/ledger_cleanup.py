"""Ledger cleanup: delete entries whose rows are gone, a chunk at a time."""

from __future__ import annotations

from sqlalchemy.orm import Session

from duetime.transitions.batch import RowBatch
from duetime.transitions.commit import commit
from duetime.transitions.locking import begin, begin_writing
from duetime.transitions.row_key import key_parameters

CHUNK_SIZE = 500


def prune(session: Session, batch: RowBatch, after: str) -> str:
    """Check the entries after a row key, in order. Return the last key checked, or "" at the
    end."""
    begin(session, batch.target)
    keys = batch.statements.entry_keys(CHUNK_SIZE)
    row_keys = [entry.row_key for entry in batch.run(session, keys, duetime_row_key=after)]
    gone = _keys_without_row(session, batch, row_keys) if row_keys else []
    if gone:
        _delete_entries(session, batch, gone)
        commit(session, batch.log)
    session.rollback()
    return row_keys[-1] if len(row_keys) == CHUNK_SIZE else ""


def _delete_entries(session: Session, batch: RowBatch, gone: list[str]) -> None:
    """Delete entries, checking again under a lock: a row may have been inserted again, and its
    value applied. The lock makes later claims of these entries wait for this transaction."""
    begin_writing(session, batch.target)
    batch.run(session, batch.statements.lock_row_entries, duetime_row_keys=gone)
    still = _keys_without_row(session, batch, gone)
    batch.run(session, batch.statements.delete_row_entries, duetime_row_keys=still)


def _keys_without_row(session: Session, batch: RowBatch, row_keys: list[str]) -> list[str]:
    statements = batch.statements
    params = key_parameters(batch.target.keys, row_keys, statements.dialect)
    present = {record[0] for record in batch.run(session, statements.existing_rows, **params)}
    return [row_key for row_key in row_keys if row_key not in present]
