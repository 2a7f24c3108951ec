"""Sends wakes for changed rows to other processes, after the commit and apart from its thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from duetime.errors import DuetimeError
from duetime.logs import get_log
from duetime.model.clock import monotonic
from duetime.store.outage_log import OutageLog
from duetime.worker.backoff import Backoff

log = get_log("duetime.transitions")

# PostgreSQL serializes commits with a NOTIFY: this many per second and process are sent, and
# commits in between share one.
MAX_WAKES_PER_SECOND = 50
MAX_BACKOFF_SECONDS = 5.0


class WakeSender:
    """Sends wakes from a thread that lives as long as there are any: neither the commit that caused
    them nor its event loop waits, no connection is needed before the first, and a process that
    ends, or forks, leaves nothing behind.

    While the store is away wakes are dropped: a wake is a hint, and runners look again by
    themselves as soon as they listen again.
    """

    def __init__(self, send: Callable[[Sequence[str]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._lanes: set[str] = set()
        self._thread: threading.Thread | None = None
        self._backoff = Backoff(MAX_BACKOFF_SECONDS)
        self._silent_until = 0.0
        self._outage = OutageLog(
            log,
            "other processes are not woken for changed rows, and find them at their interval",
            "other processes are woken again",
        )

    def submit(self, lanes: Iterable[str]) -> None:
        """Send wakes for these lanes soon; may be called from any thread."""
        with self._lock:
            if monotonic() < self._silent_until:
                return
            self._lanes |= set(lanes)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="duetime-row-wakes")
                self._start(self._thread)

    def _start(self, thread: threading.Thread) -> None:
        try:
            thread.start()
        except RuntimeError as error:  # the interpreter is shutting down
            self._thread = None
            self._outage.failed(error)

    def _run(self) -> None:
        pause = threading.Event()
        while lanes := self._take():
            self._send_logged(lanes)
            pause.wait(1 / MAX_WAKES_PER_SECOND)

    def _take(self) -> list[str]:
        """Return what is to be sent. If nothing is, this thread ends, and the next wake starts
        another one."""
        with self._lock:
            lanes, self._lanes = sorted(self._lanes), set()
            if not lanes:
                self._thread = None
            return lanes

    def _send_logged(self, lanes: Sequence[str]) -> None:
        try:
            self._send(lanes)
        except DuetimeError as error:
            self._outage.failed(error)
            self._silent_until = monotonic() + self._backoff.next_pause()
        except Exception as error:  # noqa: BLE001 - logged; the next wake is sent all the same
            self._outage.failed(repr(error), exc_info=error)
            self._silent_until = monotonic() + self._backoff.next_pause()
        else:
            self._outage.recovered()
            self._backoff.reset()
