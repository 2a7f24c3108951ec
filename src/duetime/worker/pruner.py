"""Deletes what is kept only for a while: actions, audit entries, figures, notifications."""

from __future__ import annotations

from duetime.model.clock import micros_of
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps
from duetime.worker.service import Service
from duetime.worker.settings import WorkerSettings

INTERVAL_SECONDS = 60.0
# All but actions is deleted in each of so many rounds.
ROUNDS_UNTIL_ALL = 60


class Pruner:
    """Deletes actions once a minute, the rest once an hour; again at once after a full batch."""

    def __init__(self, store: Store, settings: WorkerSettings) -> None:
        self._store = store
        self._keep = micros_of(settings.retention)
        self._keep_failed = micros_of(settings.retention_failed)
        self._keep_audit = micros_of(settings.retention_audit)
        self._keep_figures = micros_of(settings.retention_figures)
        self._batch = settings.batch
        # How many rounds have ended; in the first one, all is deleted.
        self._round = 0
        self.service = Service("prune", self._step)

    async def _step(self) -> float:
        deleted = await self._store.perform(self._prune())
        if deleted >= self._batch:
            return 0.0
        self._round += 1
        return INTERVAL_SECONDS

    def _prune(self) -> Flow[int]:
        """Return the flow of this round. What is kept for days can wait for an hour: an idle worker
        sends few statements."""
        if self._round % ROUNDS_UNTIL_ALL == 0:
            return Flow(self._prune_all, Mode.write)
        return self._prune_actions()

    def _prune_actions(self) -> Flow[int]:
        return self._store.prune(keep=self._keep, keep_failed=self._keep_failed, limit=self._batch)

    def _prune_all(self) -> Steps[int]:
        """Delete in one transaction, and return the most that was deleted of one kind: on SQLite,
        each more could have to wait for the transaction of a handler."""
        store, limit = self._store, self._batch
        audit = store.prune_audit(keep=self._keep_audit, limit=limit)
        figures = store.prune_figures(keep=self._keep_figures, limit=limit)
        # As long as failed actions, which most of them are about.
        notifications = store.prune_notifications(keep=self._keep_failed, limit=limit)
        deleted = 0
        for flow in (self._prune_actions(), audit, figures, notifications):
            deleted = max(deleted, (yield from flow.start()))
        return deleted
