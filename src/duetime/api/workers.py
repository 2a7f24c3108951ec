"""The verb of workers: returns an Operation.

`async_api.py` and `sync_api.py` perform the operation.
"""

from __future__ import annotations

from duetime.api.operation import Operation
from duetime.model.actions.claim import alive_micros
from duetime.model.health.stats import LivingWorker, living_workers
from duetime.registry.runtime import AppRuntime


class WorkerVerbs:
    """Builds the operation that lists workers."""

    def __init__(self, runtime: AppRuntime, sweep: float) -> None:
        self.runtime = runtime
        self._store = runtime.store
        self._alive_for = alive_micros(sweep)

    def list(self, *, connection: object = None) -> Operation[list[LivingWorker]]:
        """The living workers of all apps, by id."""
        flow = self._store.workers(self._alive_for)
        return Operation(flow, lambda seen: [*living_workers(seen)], connection=connection)
