"""Rows of a database that somebody has damaged: what was written over an action, and what follows.

`{deep}` stands for a text nested more deeply than Python reads.
"""

from __future__ import annotations

import random
import sqlite3
import string
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import psycopg

MICROS_PER_HOUR = 3_600_000_000

# Failed for good, with a reason: neither a run nor another try would help.
FAILS = [
    "payload='{not'",
    "payload=''",
    "payload='{deep}'",
    "due_at=-9223372036854775808",
    "tick=9223372036854775807",
    "version=-2147483648",
    "version=0",
]
# Counters that stand at an end of their range: they stay there, and the action runs.
RUNS = [
    "attempt=2147483647",
    "losses=32767",
    "base_attempt=2147483647",
    "attempt=-2147483648",
]
# No handler needs these values; operators see the nearest that can be shown, and what was found.
SHOWN_AS_UNREADABLE = [
    "priority=99, created_at=9223372036854775807",
    "priority=-1",
    "modified_at=-9223372036854775808",
    "expires_at=9223372036854775807",
]
# In a lane, or at a time, that no claim looks at: counted as unreachable.
UNREACHABLE = ["lane='junk'", "lane='p.x.y.z'", "lane='p.2.99999999999999999999.ok.1.0.default'"]

# What only SQLite lets into a column.
SQLITE_FAILS = [
    "payload=x'ff00'",
    "payload=CAST(x'7bff7d' AS text)",
    "kind=x'ff'",
    "kind=CAST(x'ff' AS text)",
    "lane=x'ff'",
    "lane=CAST(x'ff' AS text)",
    "tenant=x'ff'",
    "job=x'ff', tick='x'",
    "due_at='abc'",
    "due_at=x'ff'",
    "expires_at='x'",
    "losses='x'",
    "base_attempt='x'",
    "version='x'",
    "version=-9223372036854775808",
    "id='zz'",
    "id=x'00'",
    "token='zz', lease_until=1",
    "token=x'00', lease_until=1",
    "token=zeroblob(16), lease_until='x'",
    "worker=x'ff', token=zeroblob(16), lease_until=1",
    "after=x'01', after_on=5, due_at=NULL, lane=NULL",
]
# No run needs these.
SQLITE_RUNS = [
    "attempt='abc'",
    "attempt=x'ff'",
    "attempt=9223372036854775807",
    "attempt=1e300",
    "losses=9e18",
    "queue=x'ff'",
    "priority='x'",
    "created_at='x'",
    "created_by=x'ff'",
    "correlation_id=CAST(x'ff' AS text)",
    "trace=x'ff00'",
    "due_at=due_at-3600000000.5",
]

# What may stand in a job's record, or instead of parts of it.
JOB_RECORDS = ["", "{", "null", "[]", "5", "{deep}"]
JOB_FIELDS: list[dict[str, object]] = [
    {"next_due_at": 2**70},
    {"consecutive_failures": 2**70, "version": 2**70, "last_started_at": 2**62},
    {"zone": 1, "definition": 5},
]
JOB_DEFINITIONS: list[dict[str, object]] = [
    {"priority": 99},
    {"priority": -1},
    {"jitter": 2**70},
    {"name": "other"},
]
# The job can be read all the same, but not tick or run.
READABLE_JOB_DEFINITIONS: list[dict[str, object]] = [
    {"recurrence": "1" * 5000},
    {"tz": "../../etc/passwd"},
    {"payload": "{bad"},
]

# The row of a paused queue: its pause can be read or repaired; its name may be lost.
QUEUES = ["paused_at=9223372036854775807", "paused_until=9223372036854775807"]
SQLITE_QUEUES = [
    "paused_by=CAST(x'ff' AS text)",
    "paused_by=x'ff'",
    "pause_note=CAST(x'ff00' AS text)",
    "pause_note=x'ff'",
    "paused_at='abc'",
    "paused_at=x'ff'",
    "paused_at=1.5",
    "paused_until='abc'",
    "paused_until=x'ff'",
    "name=CAST(name AS blob)",
]
SQLITE_QUEUE_NAMES = ["name=CAST(x'ff' AS text)", "name=x'fe'", "name=x''"]

DEEP = "[" * 50_000

_LIMITS = {"bigint": 2**63, "integer": 2**31, "smallint": 2**15}
# What a column of each type may hold although duetime never wrote it.
SQLITE_VALUES = {
    "text": ["CAST(x'ff' AS text)", "x'ff'", "'a'||char(0)"],
    "integer": ["'abc'", "x'ff'", "1e300", str(2**63 - 1), str(-(2**63))],
}
POSTGRES_VALUES = {
    "text": ["''", "'{not'"],
    "uuid": [],
    **{name: [str(limit - 1), str(-limit)] for name, limit in _LIMITS.items()},
}


# Columns that hold JSON, and what they may hold besides.
JSON_COLUMNS = {
    *("roles", "selection", "report", "before", "after"),
    *("kinds", "queues", "jobs", "health", "slots"),
}
JSON_VALUES = ["'{not'", "'null'", "'[5]'", "'[\"\\ud800\"]'", "'{deep}'"]


def damaged_columns(url: str, table: str) -> list[str]:
    """Return an assignment for each column of a table and each value that it may hold. A null is
    refused where it would be damage."""
    if url.startswith("sqlite"):
        found = execute(url, f"SELECT name, lower(type) FROM pragma_table_info('duetime_{table}')")
        values = SQLITE_VALUES
    else:
        found = execute(
            url,
            "SELECT column_name, data_type FROM information_schema.columns "
            f"WHERE table_schema = 'public' AND table_name = 'duetime_{table}'",
        )
        values = POSTGRES_VALUES
    columns = [tuple(map(as_text, row)) for row in found]
    return [
        f'"{name}"={value}'
        for name, type_ in columns
        for value in values[type_] + (JSON_VALUES if name in JSON_COLUMNS else [])
    ]


def as_text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class DamagedTable:
    """A table of which one row after the other is damaged, each time from the same rows."""

    def __init__(self, url: str, table: str, among: str = "true") -> None:
        self._url = url
        self._name = f"duetime_{table}"
        self._among = among
        execute(url, f"CREATE TABLE sound_{table} AS SELECT * FROM {self._name}")
        self._restoring = (
            f"DELETE FROM {self._name}",
            f"INSERT INTO {self._name} SELECT * FROM sound_{table}",
        )

    def damage(self, assignments: str) -> None:
        damaged = assignments.replace("{deep}", DEEP)
        update = f"UPDATE {self._name} SET {damaged} WHERE {self._among}"
        execute_all(self._url, [*self._restoring, update])

    def restore(self) -> None:
        execute_all(self._url, self._restoring)


def damage(url: str, assignments: str, among: str = "") -> None:
    """Make the actions due, and write over their columns, in one statement: a worker that runs
    meanwhile never sees a row that is only half damaged."""
    due = "" if "due_at" in assignments else f"due_at = due_at - {MICROS_PER_HOUR}, "
    damaged = assignments.replace("{deep}", DEEP)
    execute(url, f"UPDATE duetime_actions SET {due}{damaged} {among}")


def execute(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement as the owner of the database would; return its rows."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as file, file:
            file.text_factory = bytes
            return file.execute(statement).fetchall()
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def execute_all(url: str, statements: Iterable[str]) -> None:
    """Run statements in one transaction: no worker sees what is between two of them."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as file, file:
            file.execute("BEGIN IMMEDIATE")
            for statement in statements:
                file.execute(statement)
        return
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


# Deletes the parts of all long texts of a table, as a disk may lose them.
LOSE_LONG_TEXTS = """
    SET allow_system_table_mods = on;
    DO $$
    DECLARE parts regclass;
    BEGIN
        SELECT reltoastrelid INTO parts FROM pg_class WHERE oid = '{table}'::regclass;
        UPDATE pg_class SET relkind = 'r' WHERE oid = parts;
        EXECUTE 'DELETE FROM ' || parts;
        UPDATE pg_class SET relkind = 't' WHERE oid = parts;
    END $$
"""


def lose_long_texts(url: str, table: str = "duetime_actions") -> None:
    """Delete the parts of long texts that PostgreSQL keeps apart from their rows."""
    execute(url, LOSE_LONG_TEXTS.format(table=table))
    # Until then the deleted parts could still be read.
    execute(url, f"VACUUM {table}")


def long_text(seed: int = 1) -> str:
    """Return a text that PostgreSQL cannot compress, and so keeps apart from its row."""
    return "".join(random.Random(seed).choices(string.ascii_letters, k=50_000))
