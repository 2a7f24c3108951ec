"""Commits of a sweep: an error of a listener after the commit does not undo the commit."""

from __future__ import annotations

from contextvars import ContextVar
from weakref import WeakSet

from sqlalchemy import event
from sqlalchemy.orm import Session

from duetime.logs import Log

# Whether the statements that are executed in this context belong to a sweep.
sweeping: ContextVar[bool] = ContextVar("duetime_sweeping", default=False)
COMMITTED_KEY = "duetime.committed"
# `event.contains` would take a class for one that is gone and had the same address.
_tracked: WeakSet[type[Session]] = WeakSet()


def track_commits(class_: type[Session]) -> None:
    """Record commits of these sessions, before any other listener is called."""
    if class_ not in _tracked:
        _tracked.add(class_)
        event.listen(class_, "after_commit", _on_commit, insert=True)


def _on_commit(session: Session) -> None:
    # Called for savepoints too, and a before_commit listener may have opened one.
    if COMMITTED_KEY in session.info and not session.in_nested_transaction():
        session.info[COMMITTED_KEY] = True


def commit(session: Session, log: Log) -> None:
    """Commit. Raises only if nothing was committed: otherwise rows are changed and must be
    reported."""
    session.info[COMMITTED_KEY] = False
    try:
        session.commit()
    except Exception:
        if not session.info[COMMITTED_KEY]:
            raise
        log.exception("a session listener failed after a sweep's commit; the changes are kept")
        session.reset()
