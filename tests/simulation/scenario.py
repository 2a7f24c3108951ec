"""Draws the scenario of a seed: size of the cluster, its settings, and its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from duetime.worker.settings import WorkerSettings

T = TypeVar("T")

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Frequency of each fault: a probability per message, or mean seconds between events.

    Zero means never.
    """

    lost_request: float = 0.0
    lost_reply: float = 0.0
    slow: float = 0.0
    lost_wake: float = 0.0
    doubled_wake: float = 0.0
    kill: float = 0.0
    pause: float = 0.0
    block: float = 0.0
    outage: float = 0.0
    cut: float = 0.0
    stop: float = 0.0
    poison: float = 0.0
    deploy: float = 0.0
    crash: float = 0.0
    forge: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Parameters of one history."""

    seed: int
    nodes: int
    actions: int
    chaos: float
    latency: float
    settings: WorkerSettings
    faults: Faults
    names_reused: bool
    some_without_handlers: bool
    one_lane: bool
    expiring: float
    # Mean seconds between acts of an operator on queues; zero means never.
    pausing: float = 0.0

    @property
    def call_timeout(self) -> float:
        """Seconds that a call waits for its reply: `timeout` in proportion to `lease`."""
        return self.settings.lease * 2 / 3

    @property
    def period(self) -> float:
        return min(self.settings.sweep, self.settings.poll)


def draw(seed: int) -> Scenario:
    """Draw a scenario; each seed has its own mix of faults, so that rare mixes occur too."""
    rng = Random(f"{seed}/scenario")
    lease = rng.choice([3.0, 6.0, 15.0])
    nodes, actions = rng.choice([2, 2, 3, 3, 4]), rng.randint(6, 20)
    chaos = lease * rng.choice([rng.uniform(3, 6), rng.uniform(3, 6), 12.0])
    return Scenario(
        seed=seed,
        nodes=nodes,
        actions=actions,
        chaos=chaos,
        latency=rng.choice([0.001, 0.01, 0.05, 0.3, 0.3]),
        settings=_settings(rng, lease),
        faults=_with_attacks(_faults(rng, lease), seed, lease),
        names_reused=rng.random() < 0.5,
        some_without_handlers=rng.random() < 0.3,
        one_lane=rng.random() < 0.6,
        expiring=_expiring(seed),
        pausing=chaos * _pausing(seed),
    )


def _expiring(seed: int) -> float:
    """Draw which part of the actions expires, apart from everything else."""
    return Random(f"{seed}/expiring").choice([0.0, 0.0, 0.0, 0.6])


def _pausing(seed: int) -> float:
    """Draw how often queues are paused and resumed, apart from everything else."""
    return Random(f"{seed}/pausing").choice([0.0, 0.0, 0.0, 0.1])


def _settings(rng: Random, lease: float) -> WorkerSettings:
    sweep = lease * rng.choice([1 / 3, 2 / 3])
    return WorkerSettings(
        app="simulation",
        concurrency=rng.choice([1, 2, 3, 8]),
        queues=rng.choice([None, None, {"bulk": 1}]),
        lease=lease,
        sweep=sweep,
        poll=rng.choice([sweep, sweep / 2, 10.0]),
        poll_unheard=1.0,
        grace=rng.choice([0.0, 1.0, 2 * lease]),
        preclaim=rng.choice([0.0, 0.25, 0.5, 1.5 * lease]),
        batch=rng.choice([2, 5, 500]),
        retention=7 * DAY_SECONDS,
        retention_failed=30 * DAY_SECONDS,
        retention_figures=30 * DAY_SECONDS,
        max_result=1000,
    )


def _faults(rng: Random, lease: float) -> Faults:
    def maybe(values: Sequence[float], chance: float = 0.55) -> float:
        value = rng.choice(values)
        return value if rng.random() < chance else 0.0

    return Faults(
        lost_request=maybe([0.02, 0.1]),
        lost_reply=maybe([0.02, 0.1]),
        slow=maybe([0.01, 0.05, 0.15]),
        lost_wake=maybe([0.1, 0.5, 1.0]),
        doubled_wake=maybe([0.3]),
        kill=maybe([lease, 3 * lease]),
        pause=maybe([lease / 2, 2 * lease]),
        block=maybe([lease], 0.3),
        outage=maybe([3 * lease], 0.4),
        cut=maybe([lease, 2 * lease], 0.4),
        stop=maybe([2 * lease], 0.4),
        poison=maybe([0.1, 0.2], 0.4),
        deploy=0.3,
    )


def _with_attacks(faults: Faults, seed: int, lease: float) -> Faults:
    """Add crashes of the store's server and forged wakes, drawn apart from the other faults."""
    rng = Random(f"{seed}/attacks")
    crash = 2 * lease if rng.random() < 0.3 else 0.0
    forge = lease / 10 if rng.random() < 0.3 else 0.0
    return replace(faults, crash=crash, forge=forge)


def draw_healthy(seed: int) -> Scenario:
    """Draw a scenario without faults and with a slot for every action."""
    drawn = draw(seed)
    settings = replace(drawn.settings, concurrency=50, queues=None, batch=500)
    return replace(
        drawn,
        settings=settings,
        faults=Faults(),
        latency=0.001,
        some_without_handlers=False,
        pausing=0.0,
    )


def draw_paused(seed: int) -> Scenario:
    """Draw a scenario without faults in which queues are paused, often with an end, and whose
    actions are pre-claimed early."""
    drawn = draw_healthy(seed)
    settings = replace(drawn.settings, preclaim=drawn.settings.lease / 2)
    return replace(drawn, settings=settings, pausing=drawn.chaos / 15, one_lane=False)


def draw_unheard(seed: int) -> Scenario:
    """Draw a scenario in which queues are paused and no wake arrives."""
    return replace(draw_paused(seed), faults=Faults(lost_wake=1.0))


def draw_forged(seed: int) -> Scenario:
    """Draw a scenario without faults but for a stranger's wakes."""
    drawn = draw_healthy(seed)
    return replace(drawn, faults=Faults(forge=drawn.chaos / 100))


def draw_crashes(seed: int) -> Scenario:
    """Draw a scenario with early pre-claims, whose only faults are crashes of the store."""
    drawn = draw(seed)
    settings = replace(drawn.settings, preclaim=1.5 * drawn.settings.lease, concurrency=8)
    faults = Faults(crash=drawn.settings.lease / 3)
    return replace(drawn, settings=settings, faults=faults, latency=0.001)


def draw_outages(seed: int) -> Scenario:
    """Draw a scenario whose only faults are outages of the store."""
    drawn = draw(seed)
    faults = Faults(outage=1.5 * drawn.settings.lease)
    return replace(drawn, faults=faults, latency=0.001, chaos=6 * drawn.settings.lease)


def draw_saturated(seed: int) -> Scenario:
    """Draw a scenario with more work than slots, pre-claimed early; some actions are poison."""
    drawn = draw(seed)
    lease = drawn.settings.lease
    settings = replace(drawn.settings, concurrency=1, queues=None, preclaim=1.5 * lease, batch=500)
    return replace(
        drawn,
        settings=settings,
        faults=Faults(poison=0.05),
        latency=0.001,
        actions=100,
        nodes=2,
        chaos=lease,
    )


def draw_far_ahead(seed: int) -> Scenario:
    """Draw a scenario with one slot, pre-claimed early, and many poison actions."""
    drawn = draw(seed)
    lease = drawn.settings.lease
    settings = replace(drawn.settings, concurrency=1, queues=None, preclaim=1.5 * lease, batch=500)
    return replace(drawn, settings=settings, faults=Faults(poison=0.2), latency=0.001, nodes=2)
