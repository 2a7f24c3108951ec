"""A commit is made, and its reply never arrives: of schedule, claim, completion and rescue."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

from faults.drop import WANTED, Drop
from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.stage import LEASE, MARGIN, SWEEP, Place, conclude, staged

WORKERS = 2
# A kind of commit that does not come by in this time is left for the next.
LONGEST_WAIT = 8.0
# Of so many claims whose reply was lost, one at least had taken something.
ENOUGH_CLAIMS = 5


def lost_reply(place: Place, count: int, progress: Progress) -> Verdict:
    """Nobody dies and no lease is lost but with a claim that nobody heard of: so even handlers
    without a transaction have exactly one effect."""
    assert place.proxy is not None
    struck: Counter[str] = Counter()
    kinds = cycle(WANTED)
    with staged(place) as stage:
        for _ in range(WORKERS):
            stage.crew.hire()
        while sum(struck.values()) < count:
            kind = next(kinds)
            drop = Drop(WANTED[kind])
            place.proxy.drop_reply(drop)
            struck[kind] += drop.struck.wait(LONGEST_WAIT)
            progress.show(sum(struck.values()), count)
        place.proxy.drop_reply(None)
        law = Law(exactly_once=True, unheard=True, recovery=LEASE + SWEEP + MARGIN)
        verdict = conclude(stage, law)
    verdict.wrong += [f"no reply to {kind} was lost" for kind in WANTED if not struck[kind]]
    if struck["claim"] >= ENOUGH_CLAIMS and not verdict.slowest_recovery:
        verdict.wrong.append("no claim that nobody heard of was rescued")
    verdict.figures["faults"] = sum(struck.values())
    verdict.figures |= Counter({f"replies lost: {kind}": n for kind, n in struck.items()})
    return verdict
