"""The services of one app that its verbs and workers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from duetime.events.bus import Events
from duetime.events.outbox import Outbox, OutboxStore
from duetime.model.clock import Clock
from duetime.model.ids import TimeOrderedIds
from duetime.model.payloads.registry import Payloads
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import DeclarationSignal, DeclaredJobs
from duetime.store.base import Store
from duetime.telemetry.meters import Meters


class Companion(Protocol):
    """A service that an app runs beside its worker, such as row transitions."""

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """May be cancelled, and called again."""


@dataclass(frozen=True, slots=True)
class AppRuntime:
    """The services of one app: store, payloads, handlers, events, meters, declared jobs."""

    store: Store
    payloads: Payloads
    handlers: Handlers
    events: Events
    meters: Meters
    clock: Clock
    jobs: DeclaredJobs = field(default_factory=DeclaredJobs)
    declarations: DeclarationSignal = field(default_factory=DeclarationSignal)
    outbox: Outbox = field(init=False)
    outbox_store: OutboxStore = field(init=False)

    def __post_init__(self) -> None:
        outbox = Outbox(self.store, TimeOrderedIds())
        object.__setattr__(self, "outbox", outbox)
        object.__setattr__(self, "outbox_store", OutboxStore(self.store, outbox))
