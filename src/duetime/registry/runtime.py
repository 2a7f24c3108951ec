"""What an app lends its workers, and the settings that they live by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from duetime.events.bus import (
    Events,
)
from duetime.events.outbox import Outbox
from duetime.events.outbox_store import Telling
from duetime.model.clock import Clock
from duetime.model.ids import TimeOrderedIds
from duetime.model.payloads.registry import Payloads
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import Declarations, DeclaredJobs
from duetime.store.base import Store
from duetime.telemetry.meters import Meters


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
