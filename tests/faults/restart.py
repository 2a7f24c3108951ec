"""PostgreSQL is restarted, crashes, or ends all sessions, under load."""

from __future__ import annotations

import random
from dataclasses import replace

from faults.ledger import connect
from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.recovery import FAR_APART, hears, returned
from faults.stage import Place, conclude, pause, staged, wait_until

WORKERS = 3
MODES = ("terminate", "fast", "immediate")
# After so many faults, the cluster is given the time to show that it is well.
LOOK_EVERY = 10


def restart(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    dice = random.Random(seed)
    place = replace(place, settings={**place.settings, **FAR_APART})
    seen = Verdict()
    with staged(place) as stage:
        hands = [stage.crew.hire() for _ in range(WORKERS)]
        assert wait_until(lambda: all(stage.has_started(hand) for hand in hands), 30)
        for done in range(1, count + 1):
            _strike(place, MODES[done % len(MODES)])
            seen.figures[f"faults: {MODES[done % len(MODES)]}"] += 1
            progress.show(done, count)
            pause(dice.uniform(0.2, 2.0))
            if done % LOOK_EVERY == 0 or done == count:
                returned(stage, hands, seen)
        stage.customer.stop()
        hears(stage, WORKERS, seen)
        verdict = conclude(stage, Law(claims_may_vanish=True))
    verdict.include(seen)
    verdict.figures["faults"] = count
    return verdict


def _strike(place: Place, mode: str) -> None:
    assert place.server is not None
    if mode != "terminate":
        place.server.restart(mode)
        return
    connection = connect(place.direct)
    try:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        connection.close()
