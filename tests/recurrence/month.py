"""What one seed means: when, how many jobs, which releases, and which faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from duetime.worker.settings import (
    WorkerSettings,
)
from simulation.clocks import START
from simulation.scenario import Faults, Scenario

HOUR = 3600.0
DAY = 24 * HOUR
# Each of these months has a night in which clocks are changed somewhere.
BEGINNINGS = [
    datetime(2030, 3, 8, 5, tzinfo=UTC),
    datetime(2030, 4, 1, tzinfo=UTC),
    datetime(2030, 9, 5, 11, 30, tzinfo=UTC),
    datetime(2030, 10, 6, tzinfo=UTC),
    datetime(2030, 10, 20, 23, 59, 59, tzinfo=UTC),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """One history before it happens; times in seconds."""

    seed: int
    begin: datetime
    days: float
    jobs: int
    busy: float
    releases: int
    downtime: float
    people: float
    scenario: Scenario

    @property
    def begun(self) -> float:
        return (self.begin - START).total_seconds()

    @property
    def length(self) -> float:
        return self.days * DAY


def draw(seed: int) -> Month:
    dice = Random(f"{seed}/month")
    lease = dice.choice([1200.0, 2400.0, 3600.0])
    return Month(
        seed=seed,
        begin=dice.choice(BEGINNINGS) + timedelta(seconds=dice.uniform(0, 3 * HOUR)),
        days=31,
        jobs=200,
        busy=0.006,
        releases=dice.randint(4, 8),
        downtime=dice.uniform(20 * HOUR, 28 * HOUR),
        people=dice.choice([HOUR / 2, HOUR, 3 * HOUR]),
        scenario=_scenario(dice, seed, lease),
    )


def draw_small(seed: int) -> Month:
    """Fewer jobs and days, and more at the same time: for many seeds."""
    drawn = draw(seed)
    return replace(drawn, days=6, jobs=25, busy=0.2, releases=4, people=HOUR / 4)


def draw_busy(seed: int) -> Month:
    """A month in which ticks come in thousands."""
    return replace(draw(seed), busy=0.04)


def draw_short(seed: int) -> Month:
    """A weekend, to be lived through again and again."""
    return replace(draw_small(seed), days=2, jobs=10, releases=3, downtime=HOUR)


def draw_healthy(seed: int) -> Month:
    """Nothing goes wrong and nobody meddles; releases come and go."""
    drawn = draw(seed)
    calm = replace(drawn.scenario, faults=Faults(), latency=0.001)
    return replace(drawn, days=5, downtime=0.0, people=0.0, scenario=calm)


def _scenario(dice: Random, seed: int, lease: float) -> Scenario:
    return Scenario(
        seed=seed,
        nodes=dice.choice([2, 3, 3]),
        actions=0,
        chaos=0.0,
        latency=dice.choice([0.001, 0.05, 0.3]),
        settings=_settings(dice, lease),
        faults=_faults(dice, lease),
        names_reused=False,
        some_know_less=False,
        one_lane=True,
    )


def _settings(dice: Random, lease: float) -> WorkerSettings:
    """Slower than in life, so that a month of it is lived through in seconds."""
    return WorkerSettings(
        app="shop",
        concurrency=dice.choice([20, 100]),
        queues=None,
        lease=lease,
        sweep=lease / 3,
        poll=lease / 3,
        poll_unheard=lease / 6,
        grace=dice.choice([0.0, 30.0]),
        preclaim=dice.choice([0.0, 0.5, 30.0]),
        batch=500,
        retention=DAY,
        retention_failed=DAY,
        max_result=1000,
    )


def _faults(dice: Random, lease: float) -> Faults:
    return Faults(
        lost_request=dice.choice([0.0, 0.01, 0.03]),
        lost_reply=dice.choice([0.0, 0.01, 0.03]),
        slow=dice.choice([0.0, 0.003, 0.01]),
        lost_wake=dice.choice([0.0, 0.1, 0.5]),
        doubled_wake=dice.choice([0.0, 0.1]),
        kill=dice.choice([12 * HOUR, 2 * DAY]),
        pause=dice.choice([12 * HOUR, 2 * DAY]),
        block=dice.choice([DAY, 3 * DAY]),
        outage=dice.choice([2 * DAY, 5 * DAY]),
        cut=dice.choice([DAY, 3 * DAY]),
        stop=dice.choice([DAY, 3 * DAY]),
    )
