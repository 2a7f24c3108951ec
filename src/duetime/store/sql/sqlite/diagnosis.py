"""Diagnoses a SQLite file without changing it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from duetime.model.clock import monotonic
from duetime.model.health.diagnosis import DatabaseFile, Diagnosis, Schema, Version
from duetime.store.flow import Flow
from duetime.store.sql import migrate
from duetime.store.sql.sqlite.errors import DRIVER_ERRORS, explain, is_busy, is_missing
from duetime.store.sql.statements.loader import StatementLoader

# The first version with RETURNING. Tested with 3.40 and newer.
OLDEST_VERSION = (3, 35, 0)
SQLITE_VERSION = Version("SQLite", sqlite3.sqlite_version_info, OLDEST_VERSION)
# How long to wait for the write lock: no healthy process holds it that long.
LOCK_TIMEOUT_SECONDS = 2.0

Drive = Callable[[sqlite3.Connection, Flow[Any]], tuple[Any, Any]]


def examine(path: str, loader: StatementLoader, drive: Drive) -> Diagnosis:
    if is_missing(path):
        known = loader.migrations()
        schema = Schema(0, known[-1].version, tuple(migration.name for migration in known))
        return Diagnosis(
            fault=f"there is no file {path}", versions=(SQLITE_VERSION,), schema=schema
        )
    file = _file(path)
    started = monotonic()
    try:
        with closing(_open(path)) as connection:
            ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
            schema = migrate.examine(loader, lambda flow: drive(connection, flow)[0])
            answered_in = monotonic() - started
            locked_for = _wait_for_lock(connection)
    except DRIVER_ERRORS as error:
        return Diagnosis(fault=str(explain(error, path)), versions=(SQLITE_VERSION,), file=file)
    return Diagnosis(
        answered_in=answered_in,
        versions=(SQLITE_VERSION,),
        schema=schema,
        file=replace(file, journal_mode=mode, locked_for=locked_for),
    )


def _file(path: str) -> DatabaseFile:
    folder = os.path.dirname(path) or "."
    return DatabaseFile(
        path=path,
        writable=os.access(path, os.W_OK),
        folder_writable=os.access(folder, os.W_OK | os.X_OK),
        free_bytes=_free_bytes(folder),
    )


def _free_bytes(folder: str) -> int | None:
    """Return None if it is unknown, as in a directory that this process may not access."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _open(path: str) -> sqlite3.Connection:
    """Open the file as it is: neither create it nor switch it to WAL."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)


def _wait_for_lock(connection: sqlite3.Connection) -> float | None:
    """Return how long we waited in vain for the write lock, or None if we got it."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return LOCK_TIMEOUT_SECONDS
        raise
    connection.execute("ROLLBACK")
    return None
