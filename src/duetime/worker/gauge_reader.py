"""Reads what the gauges of metrics show, beside sweeps."""

from __future__ import annotations

from collections.abc import Callable

from duetime.model.actions.claim import SweepResult, alive_micros
from duetime.model.clock import monotonic
from duetime.model.health.queues import QueueGauges
from duetime.store.base import Store
from duetime.telemetry.gauges import StoreGauges, WorkerGauges
from duetime.telemetry.meters import Meters
from duetime.worker.service import UNTIL_WOKEN, Service

# The store's figures are read at most once in this time, and take at most a twentieth of it: they
# count all unfinished actions.
PAUSE_SECONDS = 10.0
COST_FACTOR = 20


class GaugeReader:
    """Takes what a sweep tells. The oldest worker of a store also reads the figures of the store,
    if anything exports them: one process at a time."""

    def __init__(
        self, store: Store, meters: Meters, sweep: float, slots_used: Callable[[], int]
    ) -> None:
        self._store = store
        self._meters = meters
        self._alive = alive_micros(sweep)
        self._slots_used = slots_used
        self._gauges = WorkerGauges()
        self._next_read = 0.0
        self._wanted = False
        self.service = Service("gauges", self._step)

    def sweep_finished(self, swept: SweepResult) -> None:
        self._gauges.slots_used = self._slots_used()
        if not swept.oldest:
            self._gauges.store = None
            # Another worker reads. If this one takes over, its first read keeps the pause, too.
            self._next_read = monotonic() + PAUSE_SECONDS
        elif self._meters.measuring and monotonic() >= self._next_read:
            self._wanted = True
            self.service.wake()

    async def _step(self) -> float:
        if self._wanted:
            await self._read()
        return UNTIL_WOKEN

    async def _read(self) -> None:
        self._wanted, began = False, monotonic()
        self._next_read = began + PAUSE_SECONDS
        counted = await self._store.perform(self._store.queue_gauges(self._alive))
        self._gauges.store = _gauges_of(counted)
        took = monotonic() - began
        self._next_read = max(self._next_read, began + took * COST_FACTOR)

    def close(self) -> None:
        self._gauges.close()


def _gauges_of(counted: QueueGauges) -> StoreGauges:
    return StoreGauges(counted.backlog, counted.oldest_overdue, counted.workers)
