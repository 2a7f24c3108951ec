"""Tenants that crowd others out of the lane they share.

A lane holds the actions of many tenants, oldest first. Behind a hundred thousand of one tenant's
another's only one would wait for all of them. So from time to time a claim leaves out those who
hold much of a worker already, and finds the others wherever they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from duetime.model.lane import Lane
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held

# Whoever holds this part of the slots leaves some to others.
MUCH = 4
# How many are taken in one go, as a part of the slots.
FEW = 10
AT_LEAST_EVERY = 0.5
# To pass over a long queue takes the store time: so much longer we wait until the next.
SHARE = 20


class Aside:
    """When to look aside, and past whom."""

    def __init__(self) -> None:
        self._next = 0.0

    def crowding(self, pool: Pool, held: Iterable[Held], now: float) -> frozenset[str]:
        """The tenants that hold much of a pool, if it is time to look past them."""
        if now < self._next:
            return frozenset()
        self._next = now + AT_LEAST_EVERY
        counts = Counter(one.claim.tenant for one in held if one.pool is pool)
        much = max(pool.slots // MUCH, 1)
        return frozenset(t for t, count in counts.items() if t is not None and count >= much)

    def took(self, seconds: float, now: float) -> None:
        self._next = now + max(AT_LEAST_EVERY, SHARE * seconds)


def few(pool: Pool, room: int) -> int:
    return min(max(pool.slots // FEW, 1), room)


def shared(lanes: Iterable[Lane]) -> list[Lane]:
    """Lanes in which tenants meet. What belongs to none has lanes of its own."""
    return [lane for lane in lanes if lane.shard and not lane.suspect]
