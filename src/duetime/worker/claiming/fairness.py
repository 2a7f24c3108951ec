"""Fairness between tenants that share a lane.

A lane holds the actions of many tenants, oldest first. An action behind a hundred thousand actions
of another tenant would wait for all of them. So from time to time a claim excludes the tenants that
already occupy a large part of a worker, and finds the actions of others wherever they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun

# A tenant with this part of the slots (one in so many) counts as crowding.
CROWDING_DIVISOR = 4
# The part of the slots (one in so many) that a fair claim may take.
BATCH_DIVISOR = 10
MIN_INTERVAL_SECONDS = 0.5
# Skipping a long queue costs the store time: the next fair claim waits this many times as long.
COST_FACTOR = 20


class Fairness:
    """Decides when to claim past tenants that crowd a pool, and which tenants those are."""

    def __init__(self) -> None:
        self._next = 0.0

    def crowding(self, pool: Pool, runs: Iterable[InFlightRun], now: float) -> frozenset[str]:
        """Return the tenants that crowd the pool; empty if it is not yet time for a fair claim."""
        if now < self._next:
            return frozenset()
        self._next = now + MIN_INTERVAL_SECONDS
        counts = Counter(run.claim.tenant for run in runs if run.pool is pool)
        crowd = max(pool.slots // CROWDING_DIVISOR, 1)
        return frozenset(t for t, count in counts.items() if t is not None and count >= crowd)

    def record_cost(self, seconds: float, now: float) -> None:
        """Schedule the next fair claim after this one took `seconds`."""
        self._next = now + max(MIN_INTERVAL_SECONDS, COST_FACTOR * seconds)


def fair_batch(pool: Pool, room: int) -> int:
    return min(max(pool.slots // BATCH_DIVISOR, 1), room)
