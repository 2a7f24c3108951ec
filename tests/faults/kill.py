"""SIGKILL, at random moments and at each named point."""

from __future__ import annotations

import random
import signal
from collections import Counter
from itertools import cycle

from faults.crash import CLIENT_POINTS, POINTS, SQLITE_POINTS, STOPPING
from faults.crew import CUSTOMER, Hand
from faults.ledger import is_sqlite
from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.stage import LEASE, MARGIN, SWEEP, Place, Stage, conclude, pause, staged

RANDOM = "random"
WORKERS = 3
# One that does not come by its point in this time is killed where it is.
LONGEST_LIFE = 5.0
# So many deaths reach every point.
ENOUGH_FOR_ALL = 500


def kill(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    """`count` deaths among workers and customers, before the eyes of one that lives. The dead
    are replaced at once, so the next dies while the last one's leases still run."""
    dice = random.Random(seed)
    points = cycle(_points(place))
    deaths: Counter[str] = Counter()
    with staged(place) as stage:
        stage.crew.hire()
        hands = [_hire(stage, next(points), dice) for _ in range(WORKERS)]
        while sum(deaths.values()) < count:
            pause(0.05)
            stage.crew.note_deaths()
            for place_in, hand in enumerate(hands):
                _strike(stage, hand)
                if not hand.alive:
                    deaths[RANDOM if hand.struck else hand.order.point] += hand.was_killed
                    hands[place_in] = _hire(stage, next(points), dice)
            progress.show(sum(deaths.values()), count)
        stage.crew.note_deaths()
        verdict = conclude(stage, Law(recovery=LEASE + SWEEP + MARGIN))
    verdict.figures["faults"] = sum(deaths.values())
    verdict.figures |= Counter({f"died at {point}": times for point, times in deaths.items()})
    missed = {*_points(place)} - {*+deaths}
    if count >= ENOUGH_FOR_ALL and not place.exactly_once:
        verdict.wrong += [f"no process died at {point}" for point in sorted(missed)]
    return verdict


def _points(place: Place) -> list[str]:
    """Every other death is at a random moment."""
    named = POINTS + CLIENT_POINTS + (SQLITE_POINTS * 3 if is_sqlite(place.url) else [])
    return [one for point in random.Random(7).sample(named, len(named)) for one in (point, RANDOM)]


def _hire(stage: Stage, point: str, dice: random.Random) -> Hand:
    if point in CLIENT_POINTS:
        return stage.crew.hire(
            CUSTOMER, point=point, nth=dice.randint(1, 9), first=stage.next_first()
        )
    nth = dice.randint(1, 3) if point.startswith(("complete", "claim", *HANDLER_POINTS)) else 1
    return stage.crew.hire(point=point, nth=nth)


HANDLER_POINTS = ("start", "handler", "handled", "commit", "sweep", "renew")


def _strike(stage: Stage, hand: Hand) -> None:
    """At a random moment, from outside; or SIGTERM to those that die while they stop."""
    age = hand.age()
    if hand.order.point == RANDOM and age > 0.2 + random.random() * 2:
        stage.crew.kill(hand)
    elif hand.order.point.split(":")[0] in STOPPING and age > 1.0:
        hand.send(signal.SIGTERM)
    if age > LONGEST_LIFE:
        stage.crew.kill(hand)
