"""The thread that owns a process's connection to a SQLite file.

Flows run on it one after the other. All waiting flows are committed together, with one sync to
disk.
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

from duetime.logs import get_log
from duetime.store.flow import Flow, Wake
from duetime.store.outage_log import OutageLog
from duetime.store.sql.sqlite.errors import DRIVER_ERRORS, explain
from duetime.store.sql.sqlite.open_file import FileLost, WatchedConnection

log = get_log("duetime.store")

# At most this many flows share a commit, which bounds how long the first of them waits.
MAX_FLOWS_PER_COMMIT = 500

Drive = Callable[[sqlite3.Connection, Flow[Any]], tuple[Any, list[Wake]]]


@dataclass(slots=True)
class WriteRequest:
    """A flow to run, its outcome, and the callback that receives the finished request."""

    flow: Flow[Any]
    on_finished: Callable[[WriteRequest], None]
    value: Any = None
    error: BaseException | None = None
    wakes: list[Wake] = field(default_factory=list)


class Writer:
    """Takes requests from any thread. The thread starts with the first request, also after
    `stop`."""

    def __init__(self, path: str, connect: Callable[[], WatchedConnection], drive: Drive) -> None:
        self._path = path
        self._connect = connect
        self._drive = drive
        self._outage = OutageLog(log, "nothing is stored", "the SQLite database is in its place")
        # None asks the thread to stop.
        self._requests: SimpleQueue[WriteRequest | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        _writers.add(self)

    def submit(self, request: WriteRequest) -> None:
        with _forking:
            if self._thread is None:
                # A daemon, so that an app that is never closed does not keep its process alive.
                self._thread = threading.Thread(
                    target=self._run, args=(self._requests,), name="duetime-sqlite", daemon=True
                )
                self._thread.start()
            self._requests.put(request)

    def stop(self) -> None:
        """Finish the submitted requests, close the connection, end the thread."""
        with _forking:
            self._stop()

    def _stop(self) -> None:
        thread, self._thread = self._thread, None
        requests, self._requests = self._requests, SimpleQueue()
        if thread is not None:
            requests.put(None)
            thread.join()

    # -- on the thread ---------------------------------------------------------------

    def _run(self, requests: SimpleQueue[WriteRequest | None]) -> None:
        file: WatchedConnection | None = None
        stopping = False
        while not stopping:
            group, stopping = _take(requests)
            try:
                file = file or self._connect()
                self._perform(file, group)
            except FileLost as error:
                # Kept open: the system may give the number of a closed file to another one.
                self._outage.failed(error)
                for request in group:
                    request.error = error
            except BaseException as error:  # noqa: BLE001 - waiting callers must be answered
                # Nothing of the group is committed. A connection that failed is not reused.
                self._fail(group, error)
                _close(file)
                file = None
            _report(group)
        _close(file)

    def _perform(self, file: WatchedConnection, group: Sequence[WriteRequest]) -> None:
        if not group:
            return
        connection = file.connection
        writing = any(not request.flow.mode.reads_only for request in group)
        alone = len(group) == 1
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        try:
            for request in group:
                # A single flow needs no savepoint, for which SQLite copies every changed page.
                savepoint = nullcontext() if alone else _savepoint(connection)
                self._perform_request(connection, request, savepoint)
            file.check()
            self._outage.recovered()
            connection.execute("ROLLBACK" if alone and group[0].error else "COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _perform_request(
        self,
        connection: sqlite3.Connection,
        request: WriteRequest,
        savepoint: AbstractContextManager[None],
    ) -> None:
        try:
            with savepoint:
                request.value, request.wakes = self._drive(connection, request.flow)
        except BaseException as error:
            request.error = self._explained(error)
            # Some faults (a full disk) roll back the whole transaction: then all of it failed.
            if not connection.in_transaction:
                raise

    def _fail(self, group: Sequence[WriteRequest], error: BaseException) -> None:
        for request in group:
            request.error = request.error or self._explained(error)

    def _explained(self, error: BaseException) -> BaseException:
        if not isinstance(error, DRIVER_ERRORS):
            return error
        explained = explain(error, self._path)
        explained.__cause__ = error
        return explained


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Roll back the writes of a flow that fails, and not those of others."""
    connection.execute("SAVEPOINT one")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
        raise
    connection.execute("RELEASE one")


def _take(requests: SimpleQueue[WriteRequest | None]) -> tuple[list[WriteRequest], bool]:
    """Return the waiting requests, and whether to stop. Waits for the first."""
    group: list[WriteRequest] = []
    request = requests.get()
    while request is not None:
        group.append(request)
        if len(group) >= MAX_FLOWS_PER_COMMIT:
            return group, False
        try:
            request = requests.get_nowait()
        except Empty:
            return group, False
    return group, True


def _report(group: Sequence[WriteRequest]) -> None:
    for request in group:
        request.on_finished(request)


def _close(file: WatchedConnection | None) -> None:
    if file is not None:
        file.close()


# -- forking -------------------------------------------------------------------------
# SQLite records its file locks in memory that all connections of a process share. A forked child
# would inherit records of locks that it does not own, so connections are closed before a fork.

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
