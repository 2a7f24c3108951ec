"""Whether a cluster is well again after a fault that struck its way to the store."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import psycopg

from faults.crew import Hand
from faults.ledger import connect
from faults.oracle import Verdict
from faults.stage import Stage, wait_until
from faults.work import Work

# Sweeps and polls this rare find nothing by accident that a wake should have told.
RARE = 4.0
FAR_APART = {"sweep": RARE, "poll": RARE, "poll_unheard": RARE}
# A sweep that goes unanswered (3 s) and its longest backoff (5 s), the next one whose ping a dead
# listener does not hear (5 s), its longest pause (5 s); and a loaded machine.
LONGEST_RETURN = RARE + 3.0 + 5.0 + 5.0 + 5.0 + 3.0
PROBES = 7
# A wake comes within milliseconds; the next sweep, on average, in two seconds.
QUICK = 0.8


def returned(stage: Stage, hands: Sequence[Hand], verdict: Verdict) -> None:
    """Every worker runs something again, soon."""
    before = {hand.pid: stage.has_started(hand) for hand in hands}
    began = time.monotonic()
    for hand in hands:

        def works(hand: Hand = hand) -> bool:
            return stage.has_started(hand) > before[hand.pid]

        if not wait_until(works, LONGEST_RETURN - (time.monotonic() - began)):
            verdict.wrong.append(f"worker {hand.pid} did not come back in {LONGEST_RETURN} s")
    verdict.slowest_return = max(verdict.slowest_return, time.monotonic() - began)


def hears(stage: Stage, workers: int, verdict: Verdict) -> None:
    """LISTEN is back by itself: what one process schedules, another starts at once."""
    wait_until(lambda: listening(stage.place.direct) >= workers, 30)
    wait_until(lambda: not stage.unfinished(), 30)
    waits = [_probe(stage) for _ in range(PROBES)]
    verdict.wake = statistics.median(waits)
    if verdict.wake > QUICK:
        verdict.wrong.append(f"LISTEN is not back: from schedule to start {waits}")


def listening(url: str) -> int:
    connection: psycopg.Connection = connect(url)
    try:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
            "AND datname = current_database()"
        ).fetchone()
    finally:
        connection.close()
    assert found is not None
    return int(found[0])


def _probe(stage: Stage) -> float:
    """Seconds from an action's making to the start of its run."""
    number = stage.next_first()
    stage.customer.receipts.tried.add(number)
    made = stage.observer.sync.schedule(Work(number))
    stage.customer.receipts.acked[number] = str(made.id)
    ended = stage.observer.sync.wait(made.id, timeout=30)
    assert ended.finished_at is not None
    [*_, last] = stage.observer.sync.runs(made.id)
    assert last.started_at is not None
    return (last.started_at - made.created_at).total_seconds()
