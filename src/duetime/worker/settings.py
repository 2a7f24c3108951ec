"""The settings of one worker, taken from the app's settings and the arguments of `app.worker()`."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.config import YEAR_SECONDS
from duetime.model.jobs.misfire import MISFIRE_AFTER_SECONDS
from duetime.worker.claiming.slots import QueuesArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of one worker; durations in seconds."""

    app: str
    concurrency: int
    queues: QueuesArgument
    lease: float
    sweep: float
    poll: float
    poll_unheard: float
    grace: float
    preclaim: float
    batch: int
    retention: float
    retention_failed: float
    retention_figures: float
    max_result: int
    keep_tracebacks: bool = True
    retention_audit: float = YEAR_SECONDS
    misfire_after: float = MISFIRE_AFTER_SECONDS
    # The slots of the queue of deliveries; 0 where nothing can be delivered.
    delivery_slots: int = 0
    # The app whose code declares subscriptions, if the worker itself is of no app.
    subscribing_app: str | None = None
