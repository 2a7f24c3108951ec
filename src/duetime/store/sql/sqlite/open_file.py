"""The SQLite file that a process has open: whether it is still the one at its path.

A process that went on with a deleted or replaced file would write to a file that no other
process can open.
Only `stat` is used: opening and closing these files here would drop the locks that SQLite holds on
them for this process.
"""

from __future__ import annotations

import os
import sqlite3

from duetime.errors import StoreUnavailable
from duetime.model.clock import monotonic

# The files that SQLite keeps beside a database while it is open.
LOG_SUFFIX, INDEX_SUFFIX = "-wal", "-shm"

# Before each transaction only the database itself is checked, which takes two microseconds; the
# files beside it at most this often.
CHECK_SECONDS = 0.01

MISSING = "was deleted or moved"

Identity = tuple[int, int]


class FileLost(StoreUnavailable):
    """The file that this process has open is no longer the one at its path."""


def database_lost(path: str, what: str) -> FileLost:
    """Return the error for the database itself: what happened to it."""
    return FileLost(
        f"the SQLite database {path} {what} while this process had it open; nothing was written. "
        "Stop all processes that use it; put the database, or a backup of it, in its place, "
        "without the -wal and -shm files of another one; start them again"
    )


def part_lost(path: str, part: str) -> FileLost:
    """Return the error for a file that SQLite keeps beside the database."""
    return FileLost(
        f"{part}, a part of the SQLite database {path}, was deleted or replaced while this process "
        "had it open; nothing was written. Stop all processes that use the database, not by force: "
        "the last one saves what the part held. Then start them again"
    )


class WatchedConnection:
    """A connection, and which files it has open. Once it is closed, only the database itself is
    compared: SQLite deletes the others."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        """`connection` has read the database at `path`, so that all its files exist."""
        self.connection = connection
        self.path = path
        self.identity = identity(path)
        real = os.path.realpath(path)
        beside = (f"{real}{LOG_SUFFIX}", f"{real}{INDEX_SUFFIX}")
        self._opened = [(path, self.identity), *((part, identity(part)) for part in beside)]
        self._check_at = 0.0

    def check(self) -> None:
        """Raise FileLost unless the database is in its place, and the files beside it were so a
        moment ago."""
        now = monotonic()
        due = now >= self._check_at
        for path, opened in self._opened if due else self._opened[:1]:
            found = identity(path)
            if found != opened:
                raise self._error(path, found)
        if due:
            self._check_at = now + CHECK_SECONDS

    def _error(self, path: str, found: Identity | None) -> FileLost:
        if path != self.path:
            return part_lost(self.path, path)
        return database_lost(path, MISSING if found is None else "was replaced by another file")

    def close(self) -> None:
        self._opened, self._check_at = self._opened[:1], 0.0
        self.connection.close()


def identity(path: str) -> Identity | None:
    """Return what tells a file from any other; None if there is none, or none that we may see."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
