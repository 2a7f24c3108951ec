"""Clients that schedule work and keep receipts: a thread, or a process that can be killed.

`python -m faults.client_process ORDER` prints `try N` before each call and `ack N ID` after it.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import count

from duetime import Duetime
from duetime.errors import StoreUnavailable
from faults.crash_points import CrashPoint, CrashPointWrapper
from faults.work_order import Work, WorkOrder

MAX_DELAY_SECONDS = 0.6
MAX_WORK_SECONDS = 0.3


@dataclass
class Receipts:
    """Numbers that were tried, and the ids with which calls were acknowledged."""

    tried: set[int] = field(default_factory=set)
    acked: dict[int, str] = field(default_factory=dict)
    refused: int = 0
    slowest: float = 0.0

    def add(self, other: Receipts) -> None:
        self.tried |= other.tried
        self.acked |= other.acked

    def read(self, output: str) -> None:
        """Read the output of a client process; its last line may be incomplete."""
        for line in output.splitlines(keepends=True):
            if line.endswith("\n"):
                verb, number, *rest = line.split()
                self.tried.add(int(number))
                if verb == "ack":
                    self.acked[int(number)] = rest[0]


class ClientThread:
    """A thread that schedules actions at a steady pace until it is stopped."""

    def __init__(self, app: Duetime, first: int, per_second: float, work: float) -> None:
        self._app = app
        self._numbers = count(first)
        self._pause = 1 / per_second
        self._work = work
        self._stopping = threading.Event()
        self.receipts = Receipts()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "a call of the client hangs"

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            self.schedule()

    def schedule(self) -> None:
        number = next(self._numbers)
        self.receipts.tried.add(number)
        before = time.monotonic()
        try:
            action = self._app.sync.schedule(_work(number, self._work), delay=_delay())
            self.receipts.acked[number] = str(action.id)
        except StoreUnavailable:
            self.receipts.refused += 1
        self.receipts.slowest = max(self.receipts.slowest, time.monotonic() - before)


def _work(number: int, longest: float) -> Work:
    return Work(number, random.uniform(0, longest))


def _delay() -> float:
    return random.choice([0.0, random.uniform(0, MAX_DELAY_SECONDS)])


def main(text: str) -> None:
    order = WorkOrder(**json.loads(text))
    app = client_app(order.url, order.settings)
    CrashPointWrapper(app.store, CrashPoint(order.point, order.nth))
    for number in count(order.first):
        print("try", number, flush=True)
        try:
            action = app.sync.schedule(_work(number, MAX_WORK_SECONDS), delay=_delay())
        except StoreUnavailable:
            continue
        print("ack", number, action.id, flush=True)


def client_app(url: str, settings: dict[str, object]) -> Duetime:
    """Return an app that schedules and reads, and runs nothing."""
    app = Duetime(url, **settings)  # type: ignore[arg-type]
    app.payload(Work, kind="work")
    return app


if __name__ == "__main__":
    main(sys.argv[1])
