"""Checks that a cluster recovers after a fault between workers and store."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import psycopg

from faults.campaign import Campaign, wait_until
from faults.ledger import connect
from faults.oracle import Verdict
from faults.processes import ManagedProcess
from faults.work_order import Work

# With sweeps and polls this rare, only a wake can start an action quickly.
RARE_SECONDS = 4.0
RARE_SWEEPS = {"sweep": RARE_SECONDS, "poll": RARE_SECONDS, "poll_unheard": RARE_SECONDS}
# A sweep without an answer (3 s) and its longest backoff (5 s), a sweep whose ping a dead listener
# does not receive (5 s) and its longest backoff (5 s), and a margin for a loaded machine.
MAX_RECOVERY_SECONDS = RARE_SECONDS + 3.0 + 5.0 + 5.0 + 5.0 + 3.0
PROBE_COUNT = 7
# A wake takes milliseconds; the next sweep comes in two seconds on average.
MAX_WAKE_SECONDS = 0.8


def check_recovered(campaign: Campaign, procs: Sequence[ManagedProcess], verdict: Verdict) -> None:
    """Check that every worker runs an action again in time."""
    before = {proc.pid: campaign.has_started(proc) for proc in procs}
    began = time.monotonic()
    for proc in procs:

        def works(proc: ManagedProcess = proc) -> bool:
            return campaign.has_started(proc) > before[proc.pid]

        if not wait_until(works, MAX_RECOVERY_SECONDS - (time.monotonic() - began)):
            verdict.wrong.append(f"worker {proc.pid} did not come back in {MAX_RECOVERY_SECONDS} s")
    verdict.slowest_return = max(verdict.slowest_return, time.monotonic() - began)


def check_listening(campaign: Campaign, workers: int, verdict: Verdict) -> None:
    """Check that LISTEN works again: an action of one process starts at once in another."""
    wait_until(lambda: listening(campaign.setup.direct) >= workers, 30)
    wait_until(lambda: not campaign.unfinished(), 30)
    waits = [_probe(campaign) for _ in range(PROBE_COUNT)]
    verdict.wake = statistics.median(waits)
    if verdict.wake > MAX_WAKE_SECONDS:
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


def _probe(campaign: Campaign) -> float:
    """Return the seconds from scheduling an action to the start of its run."""
    number = campaign.next_first()
    campaign.client.receipts.tried.add(number)
    action = campaign.observer.sync.schedule(Work(number))
    campaign.client.receipts.acked[number] = str(action.id)
    ended = campaign.observer.sync.wait(action.id, timeout=30)
    assert ended.finished_at is not None
    [*_, last] = campaign.observer.sync.runs(action.id)
    assert last.started_at is not None
    return (last.started_at - action.created_at).total_seconds()
