"""What an error of SQLite means to the user: never a raw driver error."""

from __future__ import annotations

import os
import sqlite3

from duetime.errors import ConfigError, DuetimeError, InvalidArgument, StoreUnavailable

# What the driver raises when something is wrong, with SQLite or with a value it is given.
FAULTS = (sqlite3.Error, OverflowError, UnicodeError)

PRIMARY_CODE = 0xFF


def explain(error: Exception, path: str) -> DuetimeError:
    """The error to raise instead, naming the file and the remedy."""
    if not isinstance(error, sqlite3.Error):
        return InvalidArgument("value", str(error), "SQLite cannot store it")
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & PRIMARY_CODE:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _unavailable(
                path,
                "stayed locked: another process, or a transaction of your own that is still "
                "open, holds the write lock; end it first, or pass it as connection= to "
                "join it",
            )
        case sqlite3.SQLITE_FULL:
            return _unavailable(path, "cannot grow: the disk is full; make room")
        case sqlite3.SQLITE_READONLY:
            return _unavailable(path, "cannot be written: make the file and its directory writable")
        case sqlite3.SQLITE_CANTOPEN:
            return ConfigError(f"cannot open the SQLite database {path}: {_closed(path)}")
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
        case _:
            return _unavailable(path, f"failed: {error}")


def is_busy(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & PRIMARY_CODE in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_missing(path: str) -> bool:
    """Is no file there? One that may not even be looked at is left to SQLite to complain of."""
    try:
        os.stat(path)
    except PermissionError:
        return False
    except OSError:
        return True
    return False


def _closed(path: str) -> str:
    """Why a file cannot be opened, of which SQLite says only that it cannot."""
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
