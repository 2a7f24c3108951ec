"""TODO."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.jobs.misfire import MISFIRE_AFTER
from duetime.worker.claiming.slots import Queues


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings a worker lives by; times in seconds."""

    app: str
    concurrency: int
    queues: Queues
    lease: float
    sweep: float
    poll: float
    poll_unheard: float
    grace: float
    preclaim: float
    batch: int
    retention: float
    retention_failed: float
    max_result: int
    misfire_after: float = MISFIRE_AFTER
