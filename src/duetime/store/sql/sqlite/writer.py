"""The thread that owns a process's connection to a SQLite file.

Flows run whole on it, one after the other. All that wait are committed together: the disk
is waited for once for all of them.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from duetime.store.flow import Flow, Mode, Wake
from duetime.store.sql.sqlite.errors import FAULTS, explain

# So many flows share one commit at most, so that the first of them need not wait for ever.
MOST_TOGETHER = 500

Drive = Callable[[sqlite3.Connection, Flow[Any]], tuple[Any, list[Wake]]]


@dataclass(slots=True)
class Job:
    """A flow, and whom to tell how it went."""

    flow: Flow[Any]
    done: Callable[[Job], None]
    value: Any = None
    error: BaseException | None = None
    wakes: list[Wake] = field(default_factory=list)


class Writer:
    """Takes jobs from any thread. Starts at the first, and again after `stop`."""

    def __init__(self, path: str, connect: Callable[[], sqlite3.Connection], drive: Drive) -> None:
        self._path = path
        self._connect = connect
        self._drive = drive
        # None tells the thread to stop.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        _writers.add(self)

    def submit(self, job: Job) -> None:
        with _forking:
            if self._thread is None:
                # A daemon: an app that is never closed keeps no process alive.
                self._thread = threading.Thread(
                    target=self._run, args=(self._jobs,), name="duetime-sqlite", daemon=True
                )
                self._thread.start()
            self._jobs.put(job)

    def stop(self) -> None:
        """Finish what was submitted, close the connection, end the thread."""
        with _forking:
            self._stop()

    def _stop(self) -> None:
        thread, self._thread = self._thread, None
        jobs, self._jobs = self._jobs, SimpleQueue()
        if thread is not None:
            jobs.put(None)
            thread.join()

    # -- on the thread ---------------------------------------------------------------

    def _run(self, jobs: SimpleQueue[Job | None]) -> None:
        connection: sqlite3.Connection | None = None
        stopping = False
        while not stopping:
            group, stopping = _take(jobs)
            try:
                connection = connection or self._connect()
                self._perform(connection, group)
            except BaseException as error:  # noqa: BLE001 - whoever waits must be told
                # Nothing of the group is committed. A connection that failed is not trusted.
                self._fail(group, error)
                _close(connection)
                connection = None
            _tell(group)
        _close(connection)

    def _perform(self, connection: sqlite3.Connection, group: Sequence[Job]) -> None:
        if not group:
            return
        writing = any(job.flow.mode is not Mode.read for job in group)
        alone = len(group) == 1
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        try:
            for job in group:
                # Alone it needs no savepoint, for which SQLite copies every page it changes.
                self._perform_one(
                    connection, job, nullcontext() if alone else _savepoint(connection)
                )
            connection.execute("ROLLBACK" if alone and group[0].error else "COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _perform_one(
        self, connection: sqlite3.Connection, job: Job, savepoint: AbstractContextManager[None]
    ) -> None:
        try:
            with savepoint:
                job.value, job.wakes = self._drive(connection, job.flow)
        except BaseException as error:
            job.error = self._explained(error)
            # Some faults (a full disk) undo the whole transaction: then nobody's work is left.
            if not connection.in_transaction:
                raise

    def _fail(self, group: Sequence[Job], error: BaseException) -> None:
        for job in group:
            job.error = job.error or self._explained(error)

    def _explained(self, error: BaseException) -> BaseException:
        if not isinstance(error, FAULTS):
            return error
        explained = explain(error, self._path)
        explained.__cause__ = error
        return explained


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """A flow that fails takes back its own writes, and nobody else's."""
    connection.execute("SAVEPOINT one")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
        raise
    connection.execute("RELEASE one")


def _take(jobs: SimpleQueue[Job | None]) -> tuple[list[Job], bool]:
    """All that wait, at least one; and whether we were told to stop."""
    group: list[Job] = []
    job = jobs.get()
    while job is not None:
        group.append(job)
        if len(group) >= MOST_TOGETHER:
            return group, False
        try:
            job = jobs.get_nowait()
        except Empty:
            return group, False
    return group, True


def _tell(group: Sequence[Job]) -> None:
    for job in group:
        job.done(job)


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()


# -- forking -------------------------------------------------------------------------
# SQLite keeps its locks on a file in memory shared by all connections of a process. A child
# that inherits it open believes in locks it does not have, so nothing is open at a fork.

_writers: weakref.WeakSet[Writer] = weakref.WeakSet()
_forking = threading.RLock()


def _before_fork() -> None:
    _forking.acquire()
    for writer in list(_writers):
        writer._stop()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_forking.release,
    after_in_child=_forking.release,
)
