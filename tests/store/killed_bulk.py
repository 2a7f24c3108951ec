"""A process that walks a bulk again and again, killed at every statement and after every commit.

`python killed_bulk.py URL VERB`: in each round a child adds actions of their own correlation, the
next one is killed at the next point, and a third one takes the same bulk up from its first cursor.
Prints the number of rounds. The process itself opens no store: its children are forked from it.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

import duetime.model.bulk as model
import duetime.store.sql.flows.bulks as flows
from duetime.model.act import Act
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.bulk import BulkCall, BulkVerb
from duetime.model.filter import Filter
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from store.postgres_helpers import fresh

SHIFT = 60_000_000
DUE_AT = 2_000_000_000_000_000
FAR = 10**15
PASSED = 3
STEP_SIZE = 20
COUNT = STEP_SIZE + 3


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


def prepare(url: str, number: int, verb: BulkVerb) -> None:
    """Add more actions than a step takes, in the state that the verb changes."""
    store = open_store(url)
    queue = str(number)
    lane = lane_of(queue, 1, None)
    new = fresh(COUNT, correlation_id=queue, queue=queue, lane=lane)
    store.perform_blocking(store.add(new, "return"))
    if verb == "retry":
        order = ClaimOrder("w", [LaneSpan(lane, -FAR, FAR)], COUNT, FAR)
        claimed = store.perform_blocking(store.claim(order)).claims
        ends = [Finish(c.id, c.token, State.failed, Outcome.failed) for c in claimed]
        store.perform_blocking(store.complete(ends))
    store.close()


def walk(url: str, number: int, verb: BulkVerb, bulk_id: UUID, point: KillPoint) -> None:
    store = open_store(url)
    first = BulkCall(
        bulk_id,
        0,
        Act("bob"),
        verb,
        ANY,
        Filter(correlation_id=str(number)),
        due_at=DUE_AT if verb == "reschedule" else None,
        shift=SHIFT if verb == "shift" else None,
    )
    later = replace(first, selection=None, due_at=None, shift=None)
    ended, step = False, 0
    while not ended:
        call = first if step == 0 else replace(later, step=step)
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


def main(url: str, verb: BulkVerb) -> None:
    # Smaller steps, which are over sooner.
    for module in (model, flows):
        vars(module)["BULK_SIZE"] = STEP_SIZE
    number = 0
    while True:
        bulk_id = uuid4()
        assert in_child(partial(prepare, url, number, verb)) == PASSED
        walked = partial(walk, url, number, verb, bulk_id)
        ended = in_child(partial(walked, KillPoint(number)))
        assert ended in (-signal.SIGKILL, PASSED), ended
        assert in_child(partial(walked, KillPoint(None))) == PASSED
        number += 1
        if ended == PASSED:
            break
    print(number)


if __name__ == "__main__":
    main(sys.argv[1], cast("BulkVerb", sys.argv[2]))
