"""Campaign: SIGSTOP for longer than the lease, then SIGCONT, so that stale workers return."""

from __future__ import annotations

import random
import signal
import time

from faults.campaign import (
    LEASE_SECONDS,
    MARGIN_SECONDS,
    SWEEP_SECONDS,
    StoreSetup,
    finish_campaign,
    pause,
    running_campaign,
    wait_until,
)
from faults.ledger import is_sqlite
from faults.oracle import Expectations, Verdict
from faults.processes import ManagedProcess
from faults.progress import Progress

WORKERS = 4
# How many of them are frozen at once; one more worker is never frozen.
MAX_FROZEN = 3
# Long enough that many runs are frozen midway, and that the run which replaces a frozen one is
# still working when the first continues.
LONG_WORK_SECONDS = 2.0
# Range of the freeze, longer than a lease.
FREEZE_SECONDS = (LEASE_SECONDS + SWEEP_SECONDS + 0.2, LEASE_SECONDS + SWEEP_SECONDS + 1.5)


def halt(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    rng = random.Random(seed)
    done = 0
    with running_campaign(setup, work=LONG_WORK_SECONDS) as campaign:
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        # All start before the first freeze: on SQLite a frozen process may hold the lock.
        processes = [*procs, campaign.processes.start()]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in processes), 60)
        frozen: dict[int, tuple[ManagedProcess, float]] = {}
        while done < count or frozen:
            for pid, (proc, until) in list(frozen.items()):
                if time.monotonic() >= until:
                    proc.send(signal.SIGCONT)
                    del frozen[pid]
            free = [proc for proc in procs if proc.pid not in frozen]
            if done < count and len(frozen) < MAX_FROZEN and free:
                proc = rng.choice(free)
                campaign.processes.freeze(proc)
                past_lease = rng.uniform(*FREEZE_SECONDS)
                frozen[proc.pid] = (proc, time.monotonic() + past_lease)
                done += 1
                progress.show(done, count)
            pause(rng.uniform(0.1, 0.5))
        verdict = finish_campaign(campaign, Expectations(recovery=_recovery(setup)))
    verdict.figures["faults"] = done
    return verdict


def _recovery(setup: StoreSetup) -> float:
    """Return the allowed seconds until a rescue.

    On SQLite a process frozen during a commit holds the write lock, so that no other worker can
    rescue; nor during the next lease, since none could renew.
    """
    lock_seconds = FREEZE_SECONDS[1] + LEASE_SECONDS if is_sqlite(setup.url) else 0.0
    return LEASE_SECONDS + SWEEP_SECONDS + MARGIN_SECONDS + lock_seconds
