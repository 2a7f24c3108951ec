"""Errors of a sweep: which are caused by a row, and which are transient."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, PendingRollbackError

from duetime.errors import ConfigError, StoreUnavailable
from duetime.model.actions.outcome import describe

# SQLSTATEs of lost connections, serialization conflicts, missing resources, objects in use, and a
# server that starts or stops. Other codes of these classes may be caused by a row.
TRANSIENT_STATES = ("08", "40001", "40P01", "53", "55006", "57P01", "57P02", "57P03")
# SQLAlchemy's code for statements after the connection was lost in the middle of a transaction.
CONNECTION_LOST_CODE = "8s2b"
# A lock that one of the rows needs is taken, or a statement for one row took too long.
LOCK_STATES = ("55P03", "57014")


def is_unrelated_to_rows(error: BaseException) -> bool:
    """Whether no row caused the error, so that splitting the batch would find none."""
    return isinstance(error, ConfigError) or is_transient(error)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether a row was locked: the row is not bad, and other rows can be changed."""
    return isinstance(error, DBAPIError) and str(_sqlstate(error)) in LOCK_STATES


def is_transient(error: BaseException) -> bool:
    """Whether the database caused the error, not the row: the next try may succeed."""
    if isinstance(error, StoreUnavailable):
        return True
    if isinstance(error, PendingRollbackError) and error.code == CONNECTION_LOST_CODE:
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    state = _sqlstate(error)
    if state is not None:
        return str(state).startswith(TRANSIENT_STATES)
    return isinstance(error, OperationalError) and _is_busy(str(error.orig))


def is_unavailable(error: BaseException) -> bool:
    """Whether the database caused an error outside of any row. Some drivers raise errors of their
    own, or of the system, while they connect."""
    return is_transient(error) or isinstance(error, OSError) or hasattr(error, "sqlstate")


def _sqlstate(error: DBAPIError) -> object:
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)


def _is_busy(text: str) -> bool:
    return any(word in text for word in ("locked", "busy", "disk I/O", "connection", "closed"))


def error_text(error: BaseException) -> str:
    """Return the error on one line, as errors are stored everywhere."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(describe(cause).split())
