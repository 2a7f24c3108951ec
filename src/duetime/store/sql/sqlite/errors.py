"""Translates SQLite errors into duetime's, which name the file and the remedy."""

from __future__ import annotations

import os
import sqlite3

from duetime.errors import (
    ConfigError,
    DuetimeError,
    InvalidArgument,
    StoreUnavailable,
    UnreadableRow,
)

# Errors that the driver raises, for faults of the database or of a value.
DRIVER_ERRORS = (sqlite3.Error, OverflowError, UnicodeError)

PRIMARY_CODE_MASK = 0xFF

# What SQLite or its driver says of a stored value that is not of its column's type.
DAMAGE_MESSAGES = ("Could not decode to UTF-8", "JSON cannot hold BLOB", "malformed JSON")
# Raised by our own code that reads a value of another type.
READING_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


# What a flow raises that met a damaged row. Some of our own errors are ValueErrors, too.
DAMAGE_ERRORS = (UnreadableRow, *READING_ERRORS)


def may_be_damage(error: Exception) -> bool:
    """Return whether a damaged row may have caused one of DAMAGE_ERRORS."""
    return isinstance(error, UnreadableRow) or not isinstance(error, DuetimeError)


def explain(error: Exception, path: str) -> DuetimeError:
    """Return the error to raise instead of a driver error."""
    if not isinstance(error, sqlite3.Error):
        return InvalidArgument("value", str(error), "SQLite cannot store it")
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & PRIMARY_CODE_MASK:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _unavailable(
                path,
                "stayed locked: another process, or a transaction of your own that is still "
                "open, holds the write lock; end it first, or pass it as connection= to "
                "join it",
            )
        case sqlite3.SQLITE_FULL:
            return _unavailable(path, "cannot grow: the disk is full; free some space")
        case sqlite3.SQLITE_READONLY:
            return _unavailable(path, "cannot be written: make the file and its directory writable")
        case sqlite3.SQLITE_CANTOPEN:
            return ConfigError(f"cannot open the SQLite database {path}: {_why_not_opened(path)}")
        case sqlite3.SQLITE_NOTADB:
            return ConfigError(
                f"{path} is not a SQLite database: name another file, or move this one away"
            )
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG | sqlite3.SQLITE_MISMATCH:
            return InvalidArgument("value", str(error), "SQLite refused to store it")
        case sqlite3.SQLITE_ERROR if "no such table" in str(error):
            return ConfigError(f"{path} lacks our tables ({error}): run `duetime migrate`")
        case _ if isinstance(error, sqlite3.InterfaceError | sqlite3.DataError):
            return InvalidArgument("value", str(error), "SQLite cannot store it")
        case _ if str(error).startswith(DAMAGE_MESSAGES):
            return _unreadable(path, error)
        case _:
            return _unavailable(path, f"failed: {error}")


def _unreadable(path: str, error: Exception) -> UnreadableRow:
    return UnreadableRow(
        f"the SQLite database {path} holds a row that cannot be read ({error}): any call without "
        "connection=, such as a worker's, repairs it or fails its action, and names it in the log"
    )


def is_busy(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & PRIMARY_CODE_MASK in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def is_missing(path: str) -> bool:
    """Return whether there is no such file. False without permission to check: then SQLite
    reports the error."""
    try:
        os.stat(path)
    except PermissionError:
        return False
    except OSError:
        return True
    return False


def _why_not_opened(path: str) -> str:
    """Return why a file cannot be opened, since SQLite only says that it cannot."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        return "it is a directory; name a file"
    if is_missing(folder):
        return f"there is no directory {folder}; make it, or name another"
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            f"no permission to write in {folder}, where SQLite keeps files beside the database; "
            "grant it, or name another directory"
        )
    if not os.access(path, os.R_OK | os.W_OK) and not is_missing(path):
        return "no permission to read and write it; grant it, or name another file"
    return "its directory must be writable, since SQLite keeps files beside the database"


def _unavailable(path: str, what: str) -> StoreUnavailable:
    return StoreUnavailable(f"the SQLite database {path} {what}")
