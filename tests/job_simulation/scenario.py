"""Draws the scenario of a seed: start, number of jobs, releases, cluster and faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from duetime.worker.settings import WorkerSettings
from simulation.clocks import START
from simulation.scenario import Faults, Scenario

HOUR = 3600.0
DAY = 24 * HOUR
# Each of the months that begin here has a change of clocks in some time zone.
START_TIMES = [
    datetime(2030, 3, 8, 5, tzinfo=UTC),
    datetime(2030, 4, 1, tzinfo=UTC),
    datetime(2030, 9, 5, 11, 30, tzinfo=UTC),
    datetime(2030, 10, 6, tzinfo=UTC),
    datetime(2030, 10, 20, 23, 59, 59, tzinfo=UTC),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScenario:
    """Parameters of one history; durations in seconds."""

    seed: int
    begin: datetime
    days: float
    jobs: int
    busy: float
    releases: int
    downtime: float
    operator_interval: float
    cluster: Scenario

    @property
    def begin_seconds(self) -> float:
        return (self.begin - START).total_seconds()

    @property
    def length(self) -> float:
        return self.days * DAY


def draw(seed: int) -> JobScenario:
    rng = Random(f"{seed}/month")
    lease = rng.choice([1200.0, 2400.0, 3600.0])
    return JobScenario(
        seed=seed,
        begin=rng.choice(START_TIMES) + timedelta(seconds=rng.uniform(0, 3 * HOUR)),
        days=31,
        jobs=200,
        busy=0.006,
        releases=rng.randint(4, 8),
        downtime=rng.uniform(20 * HOUR, 28 * HOUR),
        operator_interval=rng.choice([HOUR / 2, HOUR, 3 * HOUR]),
        cluster=_cluster(rng, seed, lease),
    )


def draw_small(seed: int) -> JobScenario:
    """Draw fewer jobs and days but a higher rate of events, for runs of many seeds."""
    drawn = draw(seed)
    return replace(drawn, days=6, jobs=25, busy=0.2, releases=4, operator_interval=HOUR / 4)


def draw_busy(seed: int) -> JobScenario:
    """Draw a month with many thousands of ticks."""
    return replace(draw(seed), busy=0.04)


def draw_short(seed: int) -> JobScenario:
    """Draw a weekend, for repeated runs."""
    return replace(draw_small(seed), days=2, jobs=10, releases=3, downtime=HOUR)


def draw_healthy(seed: int) -> JobScenario:
    """Draw a scenario with releases, but without faults and operators."""
    drawn = draw(seed)
    calm = replace(drawn.cluster, faults=Faults(), latency=0.001)
    return replace(drawn, days=5, downtime=0.0, operator_interval=0.0, cluster=calm)


def _cluster(rng: Random, seed: int, lease: float) -> Scenario:
    return Scenario(
        seed=seed,
        nodes=rng.choice([2, 3, 3]),
        actions=0,
        chaos=0.0,
        latency=rng.choice([0.001, 0.05, 0.3]),
        settings=_settings(rng, lease),
        faults=_faults(rng, lease),
        names_reused=False,
        some_without_handlers=False,
        one_lane=True,
        expiring=0.0,
    )


def _settings(rng: Random, lease: float) -> WorkerSettings:
    """Draw settings with long intervals, so that a month takes seconds to simulate."""
    return WorkerSettings(
        app="shop",
        concurrency=rng.choice([20, 100]),
        queues=None,
        lease=lease,
        sweep=lease / 3,
        poll=lease / 3,
        poll_unheard=lease / 6,
        grace=rng.choice([0.0, 30.0]),
        preclaim=rng.choice([0.0, 0.5, 30.0]),
        batch=500,
        retention=DAY,
        retention_failed=DAY,
        retention_figures=DAY,
        max_result=1000,
    )


def _faults(rng: Random, lease: float) -> Faults:
    return Faults(
        lost_request=rng.choice([0.0, 0.01, 0.03]),
        lost_reply=rng.choice([0.0, 0.01, 0.03]),
        slow=rng.choice([0.0, 0.003, 0.01]),
        lost_wake=rng.choice([0.0, 0.1, 0.5]),
        doubled_wake=rng.choice([0.0, 0.1]),
        kill=rng.choice([12 * HOUR, 2 * DAY]),
        pause=rng.choice([12 * HOUR, 2 * DAY]),
        block=rng.choice([DAY, 3 * DAY]),
        outage=rng.choice([2 * DAY, 5 * DAY]),
        cut=rng.choice([DAY, 3 * DAY]),
        stop=rng.choice([DAY, 3 * DAY]),
    )
