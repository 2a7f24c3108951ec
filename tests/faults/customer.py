"""Customers: they schedule work, and remember what they were told.

In a process of its own, to be killed: python -m faults.customer ORDER. It says `try N` before
each call and `ack N ID` after it.
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
from faults.crash import Crash, Watch
from faults.work import Order, Work

LONGEST_DELAY = 0.6
LONGEST_WORK = 0.3


@dataclass
class Receipts:
    """What was tried, and which of it was acknowledged with which id."""

    tried: set[int] = field(default_factory=set)
    acked: dict[int, str] = field(default_factory=dict)
    refused: int = 0
    slowest: float = 0.0

    def add(self, other: Receipts) -> None:
        self.tried |= other.tried
        self.acked |= other.acked

    def read(self, said: str) -> None:
        """From what a customer's process has said; its last line may be cut short."""
        for line in said.splitlines(keepends=True):
            if line.endswith("\n"):
                verb, number, *rest = line.split()
                self.tried.add(int(number))
                if verb == "ack":
                    self.acked[int(number)] = rest[0]


class Customer:
    """A thread that schedules at a steady pace until it is told to stop."""

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
        assert not self._thread.is_alive(), "a customer's call hangs"

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            self.schedule()

    def schedule(self) -> None:
        number = next(self._numbers)
        self.receipts.tried.add(number)
        before = time.monotonic()
        try:
            made = self._app.sync.schedule(_work(number, self._work), delay=_delay())
            self.receipts.acked[number] = str(made.id)
        except StoreUnavailable:
            self.receipts.refused += 1
        self.receipts.slowest = max(self.receipts.slowest, time.monotonic() - before)


def _work(number: int, longest: float) -> Work:
    return Work(number, random.uniform(0, longest))


def _delay() -> float:
    return random.choice([0.0, random.uniform(0, LONGEST_DELAY)])


def main(text: str) -> None:
    order = Order(**json.loads(text))
    app = client(order.url, order.settings)
    Watch(app.store, Crash(order.point, order.nth))
    for number in count(order.first):
        print("try", number, flush=True)
        try:
            made = app.sync.schedule(_work(number, LONGEST_WORK), delay=_delay())
        except StoreUnavailable:
            continue
        print("ack", number, made.id, flush=True)


def client(url: str, settings: dict[str, object]) -> Duetime:
    """An app that schedules and looks, and runs nothing."""
    app = Duetime(url, **settings)  # type: ignore[arg-type]
    app.payload(Work, kind="work")
    return app


if __name__ == "__main__":
    main(sys.argv[1])
