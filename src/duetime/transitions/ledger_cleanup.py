"""Pruning: lines of the ledger whose rows are gone, a few at a time."""

from __future__ import annotations

from sqlalchemy.orm import Session

from duetime.transitions.batch import Work
from duetime.transitions.commit import commit
from duetime.transitions.locking import begin, begin_writing
from duetime.transitions.row_key import naming

CHUNK = 500


def prune(session: Session, work: Work, after: str) -> str:
    """Look at the lines behind one, in order; the last of them, or "" at the end."""
    begin(session, work.target)
    statements = work.statements
    noted = work.run(session, statements.noted(CHUNK), duetime_text=after)
    texts = [one.row_key for one in noted]
    gone = _gone(session, work, texts) if texts else []
    if gone:
        _forget(session, work, gone)
        commit(session, work.log)
    session.rollback()
    return texts[-1] if len(texts) == CHUNK else ""


def _forget(session: Session, work: Work, gone: list[str]) -> None:
    """A row may have been made anew since, and its value applied: whoever applies one from here on
    waits for us."""
    begin_writing(session, work.target)
    work.run(session, work.statements.hold, duetime_texts=gone)
    still = _gone(session, work, gone)
    work.run(session, work.statements.forget, duetime_texts=still)


def _gone(session: Session, work: Work, texts: list[str]) -> list[str]:
    statements = work.statements
    given = naming(work.target.keys, texts, statements.dialect)
    present = {one[0] for one in work.run(session, statements.present, **given)}
    return [text for text in texts if text not in present]
