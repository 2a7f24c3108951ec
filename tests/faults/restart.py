"""Campaign: PostgreSQL restarts, crashes, or terminates all sessions, under load."""

from __future__ import annotations

import random
from dataclasses import replace

from faults.campaign import StoreSetup, finish_campaign, pause, running_campaign, wait_until
from faults.ledger import connect
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.recovery import RARE_SWEEPS, check_listening, check_recovered

WORKERS = 3
MODES = ("terminate", "fast", "immediate")
# After this many faults, recovery is checked.
CHECK_INTERVAL = 10


def restart(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    rng = random.Random(seed)
    setup = replace(setup, settings={**setup.settings, **RARE_SWEEPS})
    seen = Verdict()
    with running_campaign(setup) as campaign:
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        for done in range(1, count + 1):
            _strike(setup, MODES[done % len(MODES)])
            seen.figures[f"faults: {MODES[done % len(MODES)]}"] += 1
            progress.show(done, count)
            pause(rng.uniform(0.2, 2.0))
            if done % CHECK_INTERVAL == 0 or done == count:
                check_recovered(campaign, procs, seen)
        campaign.client.stop()
        check_listening(campaign, WORKERS, seen)
        verdict = finish_campaign(campaign, Expectations())
    verdict.include(seen)
    verdict.figures["faults"] = count
    return verdict


def _strike(setup: StoreSetup, mode: str) -> None:
    assert setup.server is not None
    if mode != "terminate":
        setup.server.restart(mode)
        return
    connection = connect(setup.direct)
    try:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        connection.close()
