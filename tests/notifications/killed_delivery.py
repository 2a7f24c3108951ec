"""Processes that report a failed action, each killed at another point between event and delivery.

`python killed_delivery.py URL FOLDER`: in each round an action fails in a child that is killed at
the next point, and another child, some minutes later, goes on. FOLDER gets a line for each message
that was sent: the round and the message's id. Prints the number of rounds. The process itself opens
no store: its children are forked from it.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from duetime import ANY, Duetime, Retry, State
from duetime.notifications import Message, Notifications
from duetime.store.flow import Flow, Steps
from duetime.testing import FakeClock
from polling import until

START = datetime(2030, 1, 1, tzinfo=UTC)
# Longer than a lease, and in another minute.
LATER = timedelta(minutes=5)
ROUND = timedelta(minutes=10)
# What lies between a failure and the end of its delivery.
VERBS = ("complete", "gather_events", "seal_notification", "settle_notification")


@dataclass(frozen=True)
class Boom:
    round: int


class KillPoint:
    """Kills this process when it is passed for the n-th time, counted from 0."""

    def __init__(self, n: int | None) -> None:
        self._left = n

    def __call__(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left is not None:
            self._left -= 1


class ToFile:
    """A transport whose receiver is a file."""

    def __init__(self, path: Path, point: KillPoint) -> None:
        self._path = path
        self._point = point

    async def send(self, message: Message) -> None:
        self._point()
        with self._path.open("a") as file:
            for event in message.events:
                file.write(f"{event.data['error']} {message.id}\n")
            file.flush()
            os.fsync(file.fileno())
        self._point()


def watched(flow: Flow[Any], point: KillPoint) -> Flow[Any]:
    """Pass the point before each statement, and before the commit."""

    def steps() -> Steps[Any]:
        running, answer = flow.start(), None
        while True:
            try:
                step = running.send(answer) if answer is not None else next(running)
            except StopIteration as end:
                point()
                return end.value
            point()
            answer = yield step

    return replace(flow, start=steps, batchable=None)


def make_app(url: str, path: Path, clock: FakeClock, point: KillPoint) -> Duetime:
    transports = {"file": ToFile(path, point)}
    app = Duetime(url, clock=clock, sweep=0.5, notifications=Notifications(transports=transports))

    @app.handler(kind="boom", retry=Retry.none())
    async def boom(payload: Boom) -> None:
        raise ValueError(f"round-{payload.round}")

    app.notifications.subscribe("action-failed", via="file", to="receiver")
    for verb in VERBS:
        made = getattr(app.store, verb)
        setattr(app.store, verb, _watching(made, point))
    return app


def _watching(verb: Callable[..., Flow[Any]], point: KillPoint) -> Callable[..., Flow[Any]]:
    return lambda *args, **kwargs: watched(verb(*args, **kwargs), point)


def sent(path: Path) -> str:
    return path.read_text()


async def report(url: str, path: Path, round_: int, at: datetime, n: int | None) -> None:
    """Run a worker until the failure of this round is reported and nothing is left to do."""
    async with make_app(url, path, FakeClock(at), KillPoint(n)) as app:

        async def done() -> bool:
            left = await app.find(state=[State.scheduled, State.running], tenant=ANY)
            return f"round-{round_} " in sent(path) and not left.items

        if n is not None:
            await app.schedule(Boom(round_))
        async with app.worker():
            await until(done, timeout=60)


def in_child(work: Callable[[], None]) -> int:
    """Return the status of a child that does the work: 0, or that of its end by a signal."""
    child = os.fork()
    if child == 0:
        ended = 1
        try:
            work()
            ended = 0
        finally:
            # A child must not return into the code of its parent.
            os._exit(ended)
    return os.waitpid(child, 0)[1]


def main(url: str, folder: str) -> int:
    """Kill at each point in turn; return how many there are."""
    logging.disable(logging.CRITICAL)
    path = Path(folder) / "sent.txt"
    path.touch()
    for n in range(200):
        at = START + n * ROUND

        def first(at: datetime = at, n: int = n) -> None:
            asyncio.run(report(url, path, n, at, n))

        def second(at: datetime = at, n: int = n) -> None:
            asyncio.run(report(url, path, n, at + LATER, None))

        status = in_child(first)
        if status == 0:
            return n
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise SystemExit(f"round {n} ended by itself: {status}")
        if in_child(second) != 0:
            raise SystemExit(f"round {n} was not reported after its process was killed")
    raise SystemExit("there are more points than rounds")


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2]))
