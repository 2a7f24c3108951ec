"""Deletes finished actions after their retention, in small batches."""

from __future__ import annotations

from duetime.model.clock import micros_of
from duetime.store.base import Store
from duetime.worker.service import Service
from duetime.worker.settings import WorkerSettings

INTERVAL_SECONDS = 60.0


class Pruner:
    """Deletes once a minute, and again at once while a batch was full."""

    def __init__(self, store: Store, settings: WorkerSettings) -> None:
        self._store = store
        self._keep = micros_of(settings.retention)
        self._keep_failed = micros_of(settings.retention_failed)
        self._batch = settings.batch
        self.service = Service("prune", self._step)

    async def _step(self) -> float:
        pruned = await self._store.perform(
            self._store.prune(keep=self._keep, keep_failed=self._keep_failed, limit=self._batch)
        )
        return 0.0 if pruned >= self._batch else INTERVAL_SECONDS
