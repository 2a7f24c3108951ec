"""A meter of processor time and WAL, of this process and of the PostgreSQL server that it uses.

The processor time of PostgreSQL is that of the postmaster, of its live children and of its exited
children. It is read from /proc, so the server must run on this machine, under Linux.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Places in /proc/<pid>/stat after the name of the program, which may contain anything.
PARENT, OWN_TICKS, CHILDREN_TICKS = 1, slice(11, 13), slice(13, 15)


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor seconds and bytes of WAL, up to now or of a section."""

    worker: float
    postgres: float
    wal: float

    def __sub__(self, before: Usage) -> Usage:
        return Usage(
            self.worker - before.worker, self.postgres - before.postgres, self.wal - before.wal
        )


class Meter:
    """Reads the usage up to now of this process and of the server at `url`."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        backend = self._connection.info.backend_pid
        if not _comm(backend).startswith("postgres"):
            raise RuntimeError("the PostgreSQL server must run on this machine, and on Linux")
        self._postmaster = int(_stat(backend)[PARENT])

    def settle(self) -> None:
        """Make sections comparable: fresh statistics for the planner, and a full-page image in the
        WAL for the first change of every page."""
        self._connection.execute("VACUUM ANALYZE")
        self._connection.execute("CHECKPOINT")

    def read(self) -> Usage:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Usage(used.ru_utime + used.ru_stime, postgres_seconds(self._postmaster), self._wal())

    def close(self) -> None:
        self._connection.close()

    def _wal(self) -> float:
        query = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return float(row[0])


def postgres_seconds(postmaster: int) -> float:
    """Processor seconds of all processes of a server. A child that exits during the read would be
    missing or counted twice, so the read is repeated."""
    while True:
        exited = _seconds(postmaster, CHILDREN_TICKS)
        live = sum(_live_seconds(pid) for pid in [postmaster, *_children(postmaster)])
        if _seconds(postmaster, CHILDREN_TICKS) == exited:
            return exited + live


def _live_seconds(pid: int) -> float:
    """Processor seconds of a process with one thread. The kernel's nanoseconds are finer than its
    ticks, where it reports both."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return int((PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    return _seconds(pid, OWN_TICKS)


def _seconds(pid: int, ticks: slice) -> float:
    return sum(map(int, _stat(pid)[ticks])) / TICKS_PER_SECOND


def _children(parent: int) -> Iterator[int]:
    for path in PROC.iterdir():
        if path.name.isdigit() and _parent(int(path.name)) == parent:
            yield int(path.name)


def _parent(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[PARENT]) if stat else 0


def _stat(pid: int) -> list[str]:
    """The fields of a process; empty if it has exited."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _comm(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text()
    except FileNotFoundError:
        return ""
