"""Slots: how many actions run at once, per queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from duetime.errors import ConfigError
from duetime.model.health.worker import SlotUse
from duetime.model.notifications.delivery import NOTIFY_QUEUE
from duetime.model.validation import check_name

if TYPE_CHECKING:
    from duetime.worker.leases.in_flight import InFlightRun

# Minimum time between two measurements of the completion rate; also the half-life of the old rate.
MIN_MEASURE_SECONDS = 0.1

# Runs that would wait longer than this many pre-claim windows are released.
MAX_READY_WINDOWS = 4

QueuesArgument = Mapping[str, int] | Sequence[str] | None


class Pool:
    """The slots of one queue, or those that all other queues share.

    `ready` holds claims that are due and wait for a slot, oldest first. `early` counts pre-claims,
    which hold no slot yet. `lease_unsure` counts runs whose lease may have expired: they start as
    soon as the store answers, so their slots stay reserved.
    """

    def __init__(
        self,
        slots: int,
        serves: Callable[[str], bool],
        queues: tuple[str, ...] | None = None,
    ) -> None:
        self.slots = slots
        self.serves = serves
        self._queues = queues
        self.running = 0
        self.early = 0
        self.lease_unsure = 0
        self.ready: deque[InFlightRun] = deque()
        self._finished = 0
        self._since = 0.0
        self._rate = 0.0

    @property
    def free(self) -> int:
        return self.slots - self.running - len(self.ready) - self.lease_unsure

    @property
    def use(self) -> SlotUse:
        """How many slots are in use, as the worker's row tells."""
        return SlotUse(self._queues, self.slots, self.running)

    def capacity_for_preclaim(self, window: float, limit: int) -> int:
        """Return how many actions to pre-claim: the free slots, plus as many as become free in one
        window at the current rate. Slow handlers have a low rate, so their actions are never
        hoarded while another worker is idle. Runs that have just started say nothing about when
        their slots become free.

        Returns 0 while half of that number still waits for a slot: a claim for many actions takes
        hardly longer than one for few, and its answer arrives while there is enough to do.
        """
        prefetch = self.prefetch(window, limit)
        capacity = self.free + prefetch - self.early
        return 0 if self.ready and capacity < prefetch // 2 else min(capacity, limit)

    def capacity_for_due(self, window: float, limit: int) -> int:
        """Return how many due actions to claim: a free slot is always filled."""
        return min(max(self.free, self.capacity_for_preclaim(window, limit)), limit)

    def max_ready(self, window: float) -> int:
        """Return how many runs may wait for a slot, at the current rate, before some are released.
        This is more than `prefetch`, so that claims are not released again and again, and at least
        the number of slots, so that newer actions do not overtake those that start next."""
        return max(int(self._rate * window * MAX_READY_WINDOWS), self.slots)

    def prefetch(self, window: float, limit: int) -> int:
        """Return how many runs may wait for a slot when they are claimed. 0 unless each slot
        becomes free twice in a window: slow runs that started together finish together, and another
        worker could have run what waits that long. At most two batches: one to run while the other
        is in transit."""
        finished = int(self._rate * window)
        return 0 if finished < 2 * self.slots else min(finished, 2 * limit)

    def run_started(self) -> None:
        self.running += 1

    def run_finished(self) -> None:
        self.running -= 1
        self._finished += 1

    def measure(self, now: float) -> None:
        """Update the completion rate, at most ten times a second. The rate is smoothed: the longer
        ago the last measurement was, the less it counts."""
        elapsed = now - self._since
        if elapsed >= MIN_MEASURE_SECONDS:
            rate = self._finished / elapsed
            self._rate = rate + (self._rate - rate) * 0.5 ** (elapsed / MIN_MEASURE_SECONDS)
            self._finished, self._since = 0, now


def pools_of(concurrency: int, queues: QueuesArgument, delivery_slots: int = 0) -> list[Pool]:
    """Return the pools for the settings `concurrency` and `queues`.

    `queues={"billing": 5}` gives billing its own slots and all other queues `concurrency`;
    `queues=["billing"]` serves only billing, with `concurrency` slots. Deliveries of notifications
    have slots of their own in each worker that can send any.
    """
    pools = _pools_of(concurrency, queues)
    if not delivery_slots:
        return pools
    own = Pool(delivery_slots, _just(NOTIFY_QUEUE), (NOTIFY_QUEUE,))
    return [own, *(_without_deliveries(pool) for pool in pools)]


def _without_deliveries(pool: Pool) -> Pool:
    serves = pool.serves
    pool.serves = lambda queue: queue != NOTIFY_QUEUE and serves(queue)
    return pool


def _pools_of(concurrency: int, queues: QueuesArgument) -> list[Pool]:
    if queues is None:
        return [Pool(concurrency, lambda queue: True)]
    if isinstance(queues, str):
        raise ConfigError(f'queues={queues!r} is a string; write queues=["{queues}"]')
    names = [check_name("queues", name, 200) for name in queues]
    if not isinstance(queues, Mapping):
        only = frozenset(names)
        return [Pool(concurrency, lambda queue: queue in only, tuple(names))]
    own = [Pool(_slots(name, n), _just(name), (name,)) for name, n in queues.items()]
    return [*own, Pool(concurrency, lambda queue: queue not in queues)]


def _just(name: str) -> Callable[[str], bool]:
    return lambda queue: queue == name


def _slots(name: str, slots: int) -> int:
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise ConfigError(f"queues[{name!r}]={slots!r} is not valid: give at least 1 slot")
    return slots
