"""Where a campaign happens: a store, its ledger, customers, a crew, and the end of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from duetime import State
from faults.crew import Crew, Hand, written
from faults.customer import LONGEST_WORK, Customer, Receipts, client
from faults.ledger import Ledger
from faults.oracle import Law, Verdict, cases, judge
from faults.proxy import Proxy
from faults.work import Order
from servers import OwnServer

LEASE, SWEEP = 1.5, 0.5
SETTINGS: dict[str, Any] = {
    "lease": LEASE,
    "sweep": SWEEP,
    "poll_unheard": 0.3,
    "grace": 2,
    "preclaim": 0.3,
    "concurrency": 8,
    "timeout": 3,
}
# What a loaded machine may add to lease + sweep.
MARGIN = 4.0
LONGEST_CALL = 30.0


@dataclass(frozen=True)
class Place:
    """A store: as the processes reach it, and past all faults."""

    url: str
    direct: str
    folder: Path
    module: str = "faults.plain"
    planted: str = ""
    exactly_once: bool = False
    # Whether its app has jobs.
    ticking: bool = False
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    server: OwnServer | None = None
    proxy: Proxy | None = None

    @property
    def order(self) -> Order:
        return Order(
            self.url, self.direct, self.module, planted=self.planted, settings=self.settings
        )


class Stage:
    """What a campaign acts on."""

    def __init__(self, place: Place, per_second: float, work: float) -> None:
        self.place = place
        self.observer = client(place.direct, place.settings)
        self.ledger = Ledger(place.direct)
        self.crew = Crew(place.order, place.folder)
        self.app = client(place.url, place.settings)
        self.customer = Customer(self.app, 1, per_second, work)
        self._firsts = iter(range(1_000_000, 10**9, 100_000))

    def next_first(self) -> int:
        """The first number of a customer in a process of its own."""
        return next(self._firsts)

    def receipts(self) -> Receipts:
        """Of all customers."""
        told = Receipts()
        told.add(self.customer.receipts)
        for hand in self.crew.hands:
            told.read(hand.said.read_text())
        return told

    def pause_jobs(self) -> None:
        """What has come comes to its end, and no more comes."""
        for job in self.observer.sync.jobs.list(limit=200):
            self.observer.sync.jobs.pause(job.name)

    def has_started(self, hand: Hand) -> int:
        """How much a process has written into the ledger."""
        return written(self.place.direct, hand.pid)

    def settle(self, within: float) -> bool:
        """Until nothing is left to do, or the time is over: then the oracle names what is left."""
        return wait_until(lambda: not self.unfinished(), within)

    def unfinished(self) -> bool:
        # Asked twice: between two questions one may pass from either state to the other.
        states = (State.scheduled, State.running) * 2
        return any(len(self.observer.sync.find(state=state, limit=1)) for state in states)

    def close(self) -> None:
        self.ledger.close()
        for app in (self.app, self.observer):
            app.sync.close()


@contextmanager
def staged(place: Place, per_second: float = 12, work: float = LONGEST_WORK) -> Iterator[Stage]:
    """With a customer at work, whose actions take up to `work` seconds; whatever happens, no
    process is left behind."""
    stage = Stage(place, per_second, work)
    stage.observer.sync.find(limit=1)
    stage.ledger.create()
    stage.customer.start()
    try:
        yield stage
    finally:
        stage.customer.stop()
        stage.crew.kill_all()
        stage.close()


def conclude(stage: Stage, law: Law, within: float = 60) -> Verdict:
    """No more faults: let it come to its end, and judge."""
    stage.customer.stop()
    stage.crew.send_customers_away()
    strays = stage.crew.strays()
    stage.pause_jobs()
    # There may be nobody left who would do the rest.
    if not stage.settle(0 if strays else within):
        stage.crew.ask_where_they_wait()
    stubborn = stage.crew.dismiss()
    law = replace(law, exactly_once=law.exactly_once or stage.place.exactly_once)
    lines = stage.ledger.lines()
    receipts = stage.receipts()
    verdict = judge(cases(stage.observer, lines), receipts, stage.crew.silences(), law)
    verdict.wrong += [
        f"process {hand.pid} ended by itself with {hand.process.returncode}: {hand.log}"
        for hand in strays
    ]
    verdict.wrong += [f"process {hand.pid} did not stop in order when told to" for hand in stubborn]
    slowest = verdict.slowest_call = stage.customer.receipts.slowest
    verdict.figures["calls refused as unavailable"] = stage.customer.receipts.refused
    if slowest > LONGEST_CALL:
        verdict.wrong.append(f"a call took {slowest:.1f} s")
    if verdict.wrong:
        _keep(stage, verdict)
    return verdict


def _keep(stage: Stage, verdict: Verdict) -> None:
    """The evidence of a history that broke its promises."""
    lines = [line._asdict() for line in stage.ledger.lines()]
    path = stage.place.folder / "ledger.json"
    path.write_text(json.dumps({"wrong": verdict.wrong, "lines": lines}, indent=1))


def wait_until(holds: Callable[[], object], within: float) -> bool:
    """Look, with pauses between, until it holds or the time is over; whether it did."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause(0.05)
    return True


def pause(seconds: float) -> None:
    """The pace of a campaign; nothing waits for it."""
    threading.Event().wait(seconds)
