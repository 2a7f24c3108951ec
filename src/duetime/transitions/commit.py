"""Committing: what listeners of the application raise after a commit does not undo it."""

from __future__ import annotations

import logging

from sqlalchemy import event
from sqlalchemy.orm import Session

COMMITTED = "duetime.committed"


def hear_commits(class_: type[Session]) -> None:
    """Before any listener that these sessions have."""
    if not event.contains(class_, "after_commit", _committed):
        event.listen(class_, "after_commit", _committed, insert=True)


def _committed(session: Session) -> None:
    # It is told of savepoints too, and a listener before the commit may have made one.
    if COMMITTED in session.info and not session.in_nested_transaction():
        session.info[COMMITTED] = True


def commit(session: Session, log: logging.Logger) -> None:
    """Raises only if nothing was committed: else rows are changed, and are to be told of."""
    session.info[COMMITTED] = False
    try:
        session.commit()
    except Exception:
        if not session.info[COMMITTED]:
            raise
        log.exception("a listener failed after the commit of a sweep")
        session.reset()
