"""Errors: which are a row's own, and which will pass."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from duetime.errors import ConfigError, StoreUnavailable
from duetime.model.actions.outcome import describe

# What PostgreSQL says of lost connections, conflicts of transactions, lack of resources, others
# in the way, and a server that stops or starts. Other codes of these classes may be a row's own.
PASSING = ("08", "40001", "40P01", "53", "55006", "57P01", "57P02", "57P03")
# Somebody holds a lock that one of the rows needs, or that row alone took too long.
HELD = ("55P03", "57014")


def excused(error: BaseException) -> bool:
    """No row is to blame, and none to be looked for."""
    return isinstance(error, ConfigError) or will_pass(error)


def is_held(error: BaseException) -> bool:
    """The row is not to blame; but it may be a single one, and others can go on."""
    return isinstance(error, DBAPIError) and str(_state(error)) in HELD


def will_pass(error: BaseException) -> bool:
    """The database was in the way, not the row: the same may go well in a moment."""
    if isinstance(error, StoreUnavailable):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    state = _state(error)
    if state is not None:
        return str(state).startswith(PASSING)
    return isinstance(error, OperationalError) and _is_busy(str(error.orig))


def _state(error: DBAPIError) -> object:
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)


def _is_busy(text: str) -> bool:
    return any(word in text for word in ("locked", "busy", "disk I/O", "connection", "closed"))


def reason(error: BaseException) -> str:
    """On one line, as errors are kept everywhere."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(describe(cause).split())
