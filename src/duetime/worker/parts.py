"""What an app lends its workers, and the settings that they live by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from duetime.events import Events
from duetime.model.clock import Clock
from duetime.model.ids import TimeOrderedIds
from duetime.model.misfire import MISFIRE_AFTER
from duetime.model.payload import Payloads
from duetime.outbox import Outbox
from duetime.store.base import Store
from duetime.telemetry.meters import Meters
from duetime.worker.declarations import Declarations
from duetime.worker.declared import DeclaredJobs
from duetime.worker.handler import Handlers
from duetime.worker.slots import Queues
from duetime.worker.telling import Telling


class Companion(Protocol):
    """What an app lets run beside a worker's own services, such as its row transitions."""

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """May be cancelled, and called again."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an app lends its workers."""

    store: Store
    payloads: Payloads
    handlers: Handlers
    events: Events
    meters: Meters
    clock: Clock
    jobs: DeclaredJobs = field(default_factory=DeclaredJobs)
    declarations: Declarations = field(default_factory=Declarations)
    outbox: Outbox = field(init=False)
    telling: Telling = field(init=False)

    def __post_init__(self) -> None:
        outbox = Outbox(self.store, TimeOrderedIds())
        object.__setattr__(self, "outbox", outbox)
        object.__setattr__(self, "telling", Telling(self.store, outbox))


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
