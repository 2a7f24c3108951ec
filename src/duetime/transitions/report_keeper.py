"""Keeps the last report of the app in its store, where operators read it from any process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

from duetime.errors import DuetimeError
from duetime.logs import get_log
from duetime.model.clock import monotonic
from duetime.model.kept_report import MAX_ERRORS_KEPT, report_text
from duetime.model.transition import Report
from duetime.store.base import Store
from duetime.store.outage_log import OutageLog

log = get_log("duetime.transitions")

# Runners write at most once in this time: commits may cause many passes a second.
PAUSE_SECONDS = 5.0


class ReportKeeper:
    """Writes the report of each sweep by hand, and of runners what they did since they last wrote.
    Passes that changed nothing and found no error leave the last report as it is.

    A store that is away neither fails a sweep nor delays a runner.
    """

    def __init__(self, store: Callable[[], Store], app: Callable[[], str]) -> None:
        self._store = store
        self._app = app
        self._unwritten = Report()
        self._written_at = -PAUSE_SECONDS
        self._writing: asyncio.Task[None] | None = None
        self._outage = OutageLog(log, "the last report of transitions is not kept in the store")

    async def keep(self, report: Report) -> None:
        """Write a report now."""
        store = self._store()
        kept = store.keep_report(self._app(), _process_name(), report_text(report))
        try:
            await asyncio.to_thread(store.perform_blocking, kept)
        except DuetimeError as error:
            self._outage.failed(error)
        else:
            self._outage.recovered()

    def note(self, report: Report) -> None:
        """Add a runner's pass, and write soon what was added, unless it was just written."""
        self._unwritten.add(report)
        del self._unwritten.errors[:-MAX_ERRORS_KEPT]
        waits = monotonic() - self._written_at < PAUSE_SECONDS
        if _says_something(self._unwritten) and not waits and self._is_free():
            self._writing = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Write what was added, at the end of a runner."""
        if not self._is_free() and self._writing is not None:
            await self._writing
        if _says_something(self._unwritten):
            await self._write()

    def _is_free(self) -> bool:
        return self._writing is None or self._writing.done()

    async def _write(self) -> None:
        report, self._unwritten = self._unwritten, Report()
        self._written_at = monotonic()
        await self.keep(report)


def _says_something(report: Report) -> bool:
    return bool(report.changed or report.failed or report.errors)


def _process_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
