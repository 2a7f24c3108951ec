"""What one seed means: the size of the cluster, its settings, and which faults it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from duetime.worker.settings import (
    WorkerSettings,
)

T = TypeVar("T")

DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How often what goes wrong: chances of a message, mean seconds between events.

    Zero is never.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One history before it happens."""

    seed: int
    nodes: int
    actions: int
    chaos: float
    latency: float
    settings: WorkerSettings
    faults: Faults
    names_reused: bool
    some_know_less: bool
    one_lane: bool

    @property
    def patience(self) -> float:
        """How long a call waits for its reply, as the setting `timeout` is to `lease`."""
        return self.settings.lease * 2 / 3

    @property
    def period(self) -> float:
        return min(self.settings.sweep, self.settings.poll)


def draw(seed: int) -> Scenario:
    """Each seed has its own mix of faults, so that rare mixes come up too."""
    dice = Random(f"{seed}/scenario")
    lease = dice.choice([3.0, 6.0, 15.0])
    return Scenario(
        seed=seed,
        nodes=dice.choice([2, 2, 3, 3, 4]),
        actions=dice.randint(6, 20),
        chaos=lease * dice.choice([dice.uniform(3, 6), dice.uniform(3, 6), 12.0]),
        latency=dice.choice([0.001, 0.01, 0.05, 0.3, 0.3]),
        settings=_settings(dice, lease),
        faults=_faults(dice, lease),
        names_reused=dice.random() < 0.5,
        some_know_less=dice.random() < 0.3,
        one_lane=dice.random() < 0.6,
    )


def _settings(dice: Random, lease: float) -> WorkerSettings:
    sweep = lease * dice.choice([1 / 3, 2 / 3])
    return WorkerSettings(
        app="simulation",
        concurrency=dice.choice([1, 2, 3, 8]),
        queues=dice.choice([None, None, {"bulk": 1}]),
        lease=lease,
        sweep=sweep,
        poll=dice.choice([sweep, sweep / 2, 10.0]),
        poll_unheard=1.0,
        grace=dice.choice([0.0, 1.0, 2 * lease]),
        preclaim=dice.choice([0.0, 0.25, 0.5, 1.5 * lease]),
        batch=dice.choice([2, 5, 500]),
        retention=7 * DAY,
        retention_failed=30 * DAY,
        max_result=1000,
    )


def _faults(dice: Random, lease: float) -> Faults:
    def maybe(values: Sequence[float], chance: float = 0.55) -> float:
        value = dice.choice(values)
        return value if dice.random() < chance else 0.0

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


def draw_healthy(seed: int) -> Scenario:
    """Nothing goes wrong, and there is a slot for everything."""
    drawn = draw(seed)
    settings = replace(drawn.settings, concurrency=50, queues=None, batch=500)
    return replace(drawn, settings=settings, faults=Faults(), latency=0.001, some_know_less=False)


def draw_outages(seed: int) -> Scenario:
    """Only the store goes away now and then; every process stays in good health."""
    drawn = draw(seed)
    faults = Faults(outage=1.5 * drawn.settings.lease)
    return replace(drawn, faults=faults, latency=0.001, chaos=6 * drawn.settings.lease)


def draw_saturated(seed: int) -> Scenario:
    """More work than slots for a good while, claimed well ahead; some of it kills its worker."""
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
    """One slot, claimed for long before its time, while actions that kill their worker come
    back one by one."""
    drawn = draw(seed)
    lease = drawn.settings.lease
    settings = replace(drawn.settings, concurrency=1, queues=None, preclaim=1.5 * lease, batch=500)
    return replace(drawn, settings=settings, faults=Faults(poison=0.2), latency=0.001, nodes=2)
