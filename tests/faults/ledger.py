"""A ledger of what handlers did: a table without any unique index, written by the handlers.

It lies in the database of the store and is written on connections of its own, so that a run that
happened twice is seen twice. A line whose reply was lost may be written twice, with one nonce.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg

CREATE = (
    "CREATE TABLE IF NOT EXISTS ledger (action text, token text, pid bigint, attempt bigint, "
    "event text, at bigint, nonce text)"
)
STARTED, ENDED = "started", "ended"
# How long to retry while a server restarts: a handler must not fail because of its ledger.
MAX_WAIT_SECONDS = 30.0
CONNECTION_ERRORS = (psycopg.OperationalError, psycopg.InterfaceError, sqlite3.OperationalError)


class Line(NamedTuple):
    """One event of one run; `at` is the wall-clock time in microseconds."""

    action: str
    token: str
    pid: int
    attempt: int
    event: str
    at: int
    nonce: str


def insert(placeholder: str) -> str:
    """Return the INSERT statement for a driver with this placeholder."""
    return f"INSERT INTO ledger VALUES ({', '.join([placeholder] * len(Line._fields))})"


class Ledger:
    """Writes lines from any thread of a process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._connection: Any = None
        self._insert = insert("?" if is_sqlite(url) else "%s")

    def create(self) -> None:
        with self._lock:
            self._retry(lambda: self._open().execute(CREATE))

    def write(self, line: Line) -> None:
        with self._lock:
            self._retry(lambda: self._open().execute(self._insert, line))

    def lines(self) -> list[Line]:
        """Return all lines, oldest first, without those that were sent twice."""
        with closing(connect(self._url)) as connection:
            rows = connection.execute("SELECT * FROM ledger ORDER BY at").fetchall()
        return list({row[-1]: Line(*row) for row in rows}.values())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> Any:
        if self._connection is None:
            self._connection = connect(self._url)
        return self._connection

    def _retry(self, statement: Callable[[], object]) -> None:
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            try:
                statement()
                return
            except CONNECTION_ERRORS:
                self.close()
                if time.monotonic() > deadline:
                    raise
                threading.Event().wait(0.05)


def new_line(action: str, token: str, pid: int, attempt: int, event: str) -> Line:
    return Line(action, token, pid, attempt, event, time.time_ns() // 1000, uuid4().hex)


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def connect(url: str) -> Any:
    """Open a connection in autocommit mode."""
    if not is_sqlite(url):
        return psycopg.connect(url, autocommit=True, connect_timeout=3)
    connection = sqlite3.connect(
        url.removeprefix("sqlite:///"), timeout=30, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def by_action(lines: Sequence[Line]) -> dict[str, list[Line]]:
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        grouped.setdefault(line.action, []).append(line)
    return grouped
