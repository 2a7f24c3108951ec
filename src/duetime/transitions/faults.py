"""Errors: which are a row's own, and which will pass."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from duetime.errors import StoreUnavailable

LONGEST = 500
# PostgreSQL's classes: lost connections, conflicts of transactions, lack of resources, others in
# the way, an operator at work.
PASSING = ("08", "40", "53", "55", "57")


def will_pass(error: BaseException) -> bool:
    """The database was in the way, not the row: the same may go well in a moment."""
    if isinstance(error, StoreUnavailable):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    if state is not None:
        return str(state).startswith(PASSING)
    return isinstance(error, OperationalError) and _is_busy(str(error.orig))


def _is_busy(text: str) -> bool:
    return any(word in text for word in ("locked", "busy", "disk I/O", "connection", "closed"))


def reason(error: BaseException) -> str:
    """On one line, as short as errors are kept everywhere."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    flat = " ".join(f"{type(cause).__name__}: {cause}".split())
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]} [truncated]"
