"""SIGSTOP for longer than the lease, then SIGCONT: the dead that come back."""

from __future__ import annotations

import random
import signal
import time

from faults.crew import Hand
from faults.ledger import is_sqlite
from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.stage import LEASE, MARGIN, SWEEP, Place, conclude, pause, staged, wait_until

WORKERS = 4
# Of those, so many stand still at once; a steady one goes on.
STILL = 3
# So long that many a run is halted in its midst, and the next one too is still at it when the
# first comes back.
LONG_WORK = 2.0
# For how long, past the lease.
STOPS = (LEASE + SWEEP + 0.2, LEASE + SWEEP + 1.5)


def halt(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    dice = random.Random(seed)
    done = 0
    with staged(place, work=LONG_WORK) as stage:
        hands = [stage.crew.hire() for _ in range(WORKERS)]
        # Nobody starts while another stands still: on SQLite it may hold the lock.
        crew = [*hands, stage.crew.hire()]
        assert wait_until(lambda: all(stage.has_started(hand) for hand in crew), 60)
        frozen: dict[int, tuple[Hand, float]] = {}
        while done < count or frozen:
            for pid, (hand, until) in list(frozen.items()):
                if time.monotonic() >= until:
                    hand.send(signal.SIGCONT)
                    del frozen[pid]
            free = [hand for hand in hands if hand.pid not in frozen]
            if done < count and len(frozen) < STILL and free:
                hand = dice.choice(free)
                stage.crew.freeze(hand)
                past_lease = dice.uniform(*STOPS)
                frozen[hand.pid] = (hand, time.monotonic() + past_lease)
                done += 1
                progress.show(done, count)
            pause(dice.uniform(0.1, 0.5))
        verdict = conclude(stage, Law(recovery=_recovery(place)))
    verdict.figures["faults"] = done
    return verdict


def _recovery(place: Place) -> float:
    """On SQLite, one that stands still amidst a commit holds the lock that all others need: for
    as long nobody rescues; nor for another lease, since nobody could renew."""
    held_up = STOPS[1] + LEASE if is_sqlite(place.url) else 0.0
    return LEASE + SWEEP + MARGIN + held_up
