"""A process that walks a bulk again and again, killed at every statement and after every commit.

`python killed_bulk.py URL`: in each round a child is killed at the next point, and another one
takes the same bulk up from its first cursor. Prints the number of rounds. The process itself opens
no store: its children are forked from it.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import duetime.model.bulk as model
import duetime.store.sql.flows.bulks as flows
from duetime.model.act import Act
from duetime.model.bulk import BulkCall
from duetime.model.filter import Filter
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore

SHIFT = 60_000_000
PASSED = 3
STEP_SIZE = 20


class KillPoint:
    """Kills this process when it is passed for the n-th time, counted from 0."""

    def __init__(self, n: int | None) -> None:
        self._left = n

    def __call__(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left is not None:
            self._left -= 1


def open_store(url: str) -> Store:
    if url.startswith("postgresql:"):
        return PostgresStore(url, listen=False)
    return SqliteStore(url)


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

    return replace(flow, start=steps)


def walk(url: str, bulk_id: UUID, point: KillPoint) -> None:
    store = open_store(url)
    first = BulkCall(bulk_id, 0, Act("bob"), "shift", ANY, Filter(), shift=SHIFT)
    ended, step = False, 0
    while not ended:
        call = first if step == 0 else replace(first, step=step, selection=None, shift=None)
        answer = store.perform_blocking(watched(store.step_bulk(call), point))
        point()  # after the commit: its reply is lost
        ended, step = answer.ended, step + 1
    store.close()


def in_child(work: Callable[[], None]) -> int:
    """Run in a forked child; return its exit code, or minus the signal that killed it."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(PASSED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(url: str) -> None:
    # Smaller steps, which are over sooner.
    for module in (model, flows):
        vars(module)["BULK_SIZE"] = STEP_SIZE
    rounds = 0
    while True:
        bulk_id = uuid4()
        ended = in_child(lambda: walk(url, bulk_id, KillPoint(rounds)))  # noqa: B023 - it has run
        rounds += 1
        assert ended in (-signal.SIGKILL, PASSED), ended
        assert in_child(lambda: walk(url, bulk_id, KillPoint(None))) == PASSED  # noqa: B023
        if ended == PASSED:
            break
    print(rounds)


if __name__ == "__main__":
    main(sys.argv[1])
