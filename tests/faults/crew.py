"""The processes of a campaign, and what befalls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from faults.ledger import connect, is_sqlite
from faults.stacks import ASKED, THREADS
from faults.work import Order

WORKER, CUSTOMER = "faults.process", "faults.customer"
TESTS = Path(__file__).resolve().parent.parent


@dataclass
class Hand:
    """One process: how it is meant to end, and when it did. Times are of the wall clock."""

    process: subprocess.Popen[bytes]
    order: Order
    is_worker: bool
    log: Path
    said: Path
    # When it was first seen at work.
    up_since: float | None = None
    # When it stood still, or vanished.
    silences: list[float] = field(default_factory=list)
    # Whether we killed it; if not, it came by its crash point.
    struck: bool = False
    # Whether it was asked to stop.
    asked: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def was_killed(self) -> bool:
        return self.process.poll() == -signal.SIGKILL

    @property
    def strayed(self) -> bool:
        """It ended, and neither was it killed nor did it stop in order when asked."""
        ended = self.process.poll()
        if ended is None or self.was_killed:
            return False
        # One that was still starting had no say in how it ends.
        return not (self.asked and (ended == 0 or self.age() == 0))

    def age(self) -> float:
        """Seconds since it was seen at work for the first time: a loaded machine takes its time
        to get a process there."""
        if self.up_since is None and (self.said.stat().st_size or self._has_started()):
            self.up_since = time.monotonic()
        return 0.0 if self.up_since is None else time.monotonic() - self.up_since

    def _has_started(self) -> bool:
        return " started" in self.log.read_text()

    def ask_to_stop(self) -> None:
        """Once: a second signal would make it drop everything."""
        if not self.asked:
            self.asked = True
            self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            self.process.send_signal(number)


class Crew:
    """Starts processes, and keeps them all until the end: the dead ones are evidence."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._order = order
        self._folder = folder
        self.hands: list[Hand] = []

    def hire(self, module: str = WORKER, **changes: object) -> Hand:
        order = replace(self._order, **changes)  # type: ignore[arg-type]
        name = f"{len(self.hands):04}"
        log, said = self._folder / f"{name}.log", self._folder / f"{name}.said"
        with log.open("wb") as err, said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(asdict(order))],
                stdout=out,
                stderr=err,
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": _path()},
            )
        self.hands.append(Hand(process, order, module == WORKER, log, said))
        return self.hands[-1]

    def kill(self, hand: Hand) -> None:
        if hand.alive:
            hand.struck = True
            hand.silences.append(time.time())
            hand.process.kill()
            hand.process.wait()

    def kill_all(self) -> None:
        for hand in self.living():
            self.kill(hand)

    def freeze(self, hand: Hand) -> None:
        hand.silences.append(time.time())
        hand.send(signal.SIGSTOP)

    def send_customers_away(self) -> None:
        for hand in self.living():
            if not hand.is_worker:
                self.kill(hand)

    def ask_where_they_wait(self) -> None:
        """Into their logs, before they are told to stop."""
        for hand in self.living():
            if hand.is_worker:
                hand.send(ASKED)
                hand.send(THREADS)

    def dismiss(self) -> list[Hand]:
        """SIGTERM to all; those that do not stop in order and in time are returned."""
        staff = list(self.living())
        for hand in staff:
            hand.ask_to_stop()
        stubborn = [hand for hand in staff if not _gone(hand, 20)]
        self.kill_all()
        return stubborn

    def living(self) -> Iterator[Hand]:
        return (hand for hand in self.hands if hand.alive)

    def strays(self) -> list[Hand]:
        return [hand for hand in self.hands if hand.strayed]

    def note_deaths(self) -> None:
        """Those that killed themselves did so since we last looked."""
        for hand in self.hands:
            if not hand.silences and hand.was_killed:
                hand.silences.append(time.time())

    def silences(self) -> dict[int, list[float]]:
        return {hand.pid: hand.silences for hand in self.hands}


def _path() -> str:
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(TESTS), *([given] if given else [])])


def _gone(hand: Hand, seconds: float) -> bool:
    """It was told to stop, and did; or came by its crash point only now."""
    try:
        hand.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return not hand.strayed and not (hand.was_killed and hand.order.point == "")


def written(ledger: str, pid: int) -> int:
    """How many lines a process has written."""
    mark = "?" if is_sqlite(ledger) else "%s"
    connection = connect(ledger)
    try:
        found = connection.execute(f"SELECT count(*) FROM ledger WHERE pid = {mark}", (pid,))
        return int(found.fetchone()[0])
    finally:
        connection.close()
