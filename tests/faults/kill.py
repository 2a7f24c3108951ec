"""Campaign: SIGKILL at random moments and at each crash point."""

from __future__ import annotations

import random
from collections import Counter

from faults.campaign import (
    LEASE_SECONDS,
    MARGIN_SECONDS,
    SWEEP_SECONDS,
    Campaign,
    StoreSetup,
    finish_campaign,
    pause,
    running_campaign,
)
from faults.crash_points import (
    CLIENT_POINTS,
    JOB_POINTS,
    POINTS,
    SQLITE_POINTS,
    STOPPING_POINTS,
    TRANSACTION_POINTS,
)
from faults.ledger import is_sqlite
from faults.oracle import Expectations, Verdict
from faults.processes import CLIENT, ManagedProcess
from faults.progress import Progress

RANDOM = "random"
WORKERS = 3
# A process that does not reach its crash point in this time is killed.
MAX_LIFE_SECONDS = 5.0
# With this number of deaths every crash point must be reached.
MIN_FAULTS_FOR_ALL = 250
# One in so many deaths is at a random moment, besides those that missed their point.
RANDOM_SHARE = 3
# Points that a worker passes often: it dies at one of the first passes.
FREQUENT_POINTS = (
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


def kill(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    """Kill `count` workers and clients beside one worker that is never killed.

    Dead processes are replaced at once, so that the next one dies while leases of the last one
    have not expired yet.
    """
    rng = random.Random(seed)
    points = Points(setup, rng)
    deaths: Counter[str] = Counter()
    with running_campaign(setup) as campaign:
        campaign.processes.start()
        procs = [_hire(campaign, points.next(), rng) for _ in range(WORKERS)]
        while deaths.total() < count and not campaign.processes.unexpected_exits():
            pause(0.05)
            campaign.processes.record_deaths()
            for index, proc in enumerate(procs):
                _strike(campaign, proc)
                if not proc.alive:
                    deaths += _cause(proc)
                    points.struck += _cause(proc)
                    procs[index] = _hire(campaign, points.next(), rng)
            progress.show(deaths.total(), count)
        campaign.processes.record_deaths()
        verdict = finish_campaign(
            campaign, Expectations(recovery=LEASE_SECONDS + SWEEP_SECONDS + MARGIN_SECONDS)
        )
    verdict.figures["faults"] = deaths.total()
    verdict.figures |= Counter({f"died at {point}": times for point, times in deaths.items()})
    if deaths.total() >= MIN_FAULTS_FOR_ALL:
        missed = sorted({*points.named} - {*deaths})
        verdict.wrong += [f"no process died at {point}" for point in missed]
    return verdict


class Points:
    """Chooses the next crash point: the one that was hit and tried least often."""

    def __init__(self, setup: StoreSetup, rng: random.Random) -> None:
        named = POINTS + CLIENT_POINTS
        named += SQLITE_POINTS if is_sqlite(setup.url) else []
        named += TRANSACTION_POINTS if setup.exactly_once else []
        named += JOB_POINTS if setup.ticking else []
        self.named = rng.sample(named, len(named))
        self.struck: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()

    def next(self) -> str:
        if self._tried.total() % RANDOM_SHARE == RANDOM_SHARE - 1:
            point = RANDOM
        else:
            point = min(self.named, key=lambda name: self.struck[name] + self._tried[name])
        self._tried[point] += 1
        return point


def _hire(campaign: Campaign, point: str, rng: random.Random) -> ManagedProcess:
    if point in CLIENT_POINTS:
        return campaign.processes.start(
            CLIENT, point=point, nth=rng.randint(1, 9), first=campaign.next_first()
        )
    nth = rng.randint(1, 3) if point.startswith(FREQUENT_POINTS) else 1
    return campaign.processes.start(point=point, nth=nth)


def _cause(proc: ManagedProcess) -> Counter[str]:
    if not proc.was_killed:
        return Counter()
    return Counter([RANDOM if proc.struck else proc.order.point])


def _strike(campaign: Campaign, proc: ManagedProcess) -> None:
    """Kill a process at a random moment, or send SIGTERM if its point is passed while stopping."""
    age = proc.age()
    if proc.order.point == RANDOM and age > 0.2 + random.random() * 2:
        campaign.processes.kill(proc)
    elif proc.order.point.split(":")[0] in STOPPING_POINTS and age > 1.0:
        proc.request_stop()
    if age > MAX_LIFE_SECONDS:
        campaign.processes.kill(proc)
