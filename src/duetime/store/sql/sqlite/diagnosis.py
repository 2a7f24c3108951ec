"""Looks at a SQLite file without changing anything in it."""

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
from duetime.store.sql.sqlite.errors import FAULTS, explain, is_busy, is_missing
from duetime.store.sql.statements.loader import Loader

# RETURNING is understood since then. Tested with 3.40 and newer.
OLDEST = (3, 35, 0)
VERSION = Version("SQLite", sqlite3.sqlite_version_info, OLDEST)
# How long to wait for the write lock: nobody should hold it for as long as that.
PATIENCE = 2.0

Drive = Callable[[sqlite3.Connection, Flow[Any]], tuple[Any, Any]]


def examine(path: str, loader: Loader, drive: Drive) -> Diagnosis:
    if is_missing(path):
        known = loader.migrations()
        schema = Schema(0, known[-1].version, tuple(one.name for one in known))
        return Diagnosis(fault=f"there is no file {path}", versions=(VERSION,), schema=schema)
    file = _file(path)
    asked = monotonic()
    try:
        with closing(_open(path)) as connection:
            ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
            schema = migrate.examine(loader, lambda flow: drive(connection, flow)[0])
            answered_in = monotonic() - asked
            locked_for = _wait_for_lock(connection)
    except FAULTS as error:
        return Diagnosis(fault=str(explain(error, path)), versions=(VERSION,), file=file)
    return Diagnosis(
        answered_in=answered_in,
        versions=(VERSION,),
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
    """None where we may not even look, as below a directory that is closed to us."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _open(path: str) -> sqlite3.Connection:
    """As it is: neither made nor turned into WAL by our look at it."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)


def _wait_for_lock(connection: sqlite3.Connection) -> float | None:
    """How long we waited in vain."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return PATIENCE
        raise
    connection.execute("ROLLBACK")
    return None
