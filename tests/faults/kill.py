"""SIGKILL, at random moments and at each named point."""

from __future__ import annotations

import random
from collections import Counter

from faults.crash import (
    CLIENT_POINTS,
    JOB_POINTS,
    POINTS,
    SQLITE_POINTS,
    STOPPING,
    TRANSACTION_POINTS,
)
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
ENOUGH_FOR_ALL = 250
# One death of so many is at a random moment; so is each that missed its point.
RANDOM_SHARE = 3
# What a worker comes by again and again: it dies at one of the first times.
FREQUENT = (
    "claim",
    "complete",
    "start",
    "handler",
    "handled",
    "commit",
    "COMMIT",
    "sweep",
    "renew",
    "tick",
)


def kill(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    """`count` deaths among workers and customers, before the eyes of one that lives. The dead
    are replaced at once, so the next dies while the last one's leases still run."""
    dice = random.Random(seed)
    points = Points(place, dice)
    deaths: Counter[str] = Counter()
    with staged(place) as stage:
        stage.crew.hire()
        hands = [_hire(stage, points.next(), dice) for _ in range(WORKERS)]
        while deaths.total() < count and not stage.crew.strays():
            pause(0.05)
            stage.crew.note_deaths()
            for place_in, hand in enumerate(hands):
                _strike(stage, hand)
                if not hand.alive:
                    deaths += _cause(hand)
                    points.struck += _cause(hand)
                    hands[place_in] = _hire(stage, points.next(), dice)
            progress.show(deaths.total(), count)
        stage.crew.note_deaths()
        verdict = conclude(stage, Law(recovery=LEASE + SWEEP + MARGIN))
    verdict.figures["faults"] = deaths.total()
    verdict.figures |= Counter({f"died at {point}": times for point, times in deaths.items()})
    if deaths.total() >= ENOUGH_FOR_ALL:
        missed = sorted({*points.named} - {*deaths})
        verdict.wrong += [f"no process died at {point}" for point in missed]
    return verdict


class Points:
    """Which one is next: whatever was struck and tried the least."""

    def __init__(self, place: Place, dice: random.Random) -> None:
        named = POINTS + CLIENT_POINTS
        named += SQLITE_POINTS if is_sqlite(place.url) else []
        named += TRANSACTION_POINTS if place.exactly_once else []
        named += JOB_POINTS if place.ticking else []
        self.named = dice.sample(named, len(named))
        self.struck: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()

    def next(self) -> str:
        if self._tried.total() % RANDOM_SHARE == RANDOM_SHARE - 1:
            point = RANDOM
        else:
            point = min(self.named, key=lambda one: self.struck[one] + self._tried[one])
        self._tried[point] += 1
        return point


def _hire(stage: Stage, point: str, dice: random.Random) -> Hand:
    if point in CLIENT_POINTS:
        return stage.crew.hire(
            CUSTOMER, point=point, nth=dice.randint(1, 9), first=stage.next_first()
        )
    nth = dice.randint(1, 3) if point.startswith(FREQUENT) else 1
    return stage.crew.hire(point=point, nth=nth)


def _cause(hand: Hand) -> Counter[str]:
    if not hand.was_killed:
        return Counter()
    return Counter([RANDOM if hand.struck else hand.order.point])


def _strike(stage: Stage, hand: Hand) -> None:
    """At a random moment, from outside; or SIGTERM to those that die while they stop."""
    age = hand.age()
    if hand.order.point == RANDOM and age > 0.2 + random.random() * 2:
        stage.crew.kill(hand)
    elif hand.order.point.split(":")[0] in STOPPING and age > 1.0:
        hand.ask_to_stop()
    if age > LONGEST_LIFE:
        stage.crew.kill(hand)
