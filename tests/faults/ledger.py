"""What handlers did, written down by themselves: a table without any unique index.

It lies in the store's database and is written on connections of its own, so that a run that
happened twice is seen twice. A line whose reply was lost may be written again: its nonce tells.
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
# A server that restarts is waited for; a handler must not fail for its ledger.
PATIENCE = 30.0
BROKEN = (psycopg.OperationalError, psycopg.InterfaceError, sqlite3.OperationalError)


class Line(NamedTuple):
    """One event of one run; `at` in microseconds of the clock that the machine shares."""

    action: str
    token: str
    pid: int
    attempt: int
    event: str
    at: int
    nonce: str


def insert(placeholder: str) -> str:
    """The statement that writes a line, for a driver with this placeholder."""
    return f"INSERT INTO ledger VALUES ({', '.join([placeholder] * len(Line._fields))})"


class Ledger:
    """Written by any thread of a process, one line at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._connection: Any = None
        self._insert = insert("?" if is_sqlite(url) else "%s")

    def create(self) -> None:
        with self._lock:
            self._insist(lambda: self._open().execute(CREATE))

    def write(self, line: Line) -> None:
        with self._lock:
            self._insist(lambda: self._open().execute(self._insert, line))

    def lines(self) -> list[Line]:
        """Every line, oldest first; one that was sent twice only once."""
        with closing(connect(self._url)) as connection:
            found = connection.execute("SELECT * FROM ledger ORDER BY at").fetchall()
        return list({row[-1]: Line(*row) for row in found}.values())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> Any:
        if self._connection is None:
            self._connection = connect(self._url)
        return self._connection

    def _insist(self, act: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                act()
                return
            except BROKEN:
                self.close()
                if time.monotonic() > deadline:
                    raise
                threading.Event().wait(0.05)


def new_line(action: str, token: str, pid: int, attempt: int, event: str) -> Line:
    return Line(action, token, pid, attempt, event, time.time_ns() // 1000, uuid4().hex)


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def connect(url: str) -> Any:
    """A connection of our own, each statement a transaction."""
    if not is_sqlite(url):
        return psycopg.connect(url, autocommit=True, connect_timeout=3)
    connection = sqlite3.connect(
        url.removeprefix("sqlite:///"), timeout=30, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def by_action(lines: Sequence[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.action, []).append(line)
    return found
