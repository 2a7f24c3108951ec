"""The services of one app that its verbs and workers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet

from duetime.events.bus import Events
from duetime.events.notices import NotificationInterest
from duetime.events.outbox import Outbox, OutboxStore, SubscriberKinds
from duetime.model.clock import Clock
from duetime.model.ids import TimeOrderedIds
from duetime.model.notifications.subscription import ChannelRules, SubscriptionTerms
from duetime.model.payloads.registry import Payloads
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import DeclarationSignal, DeclaredJobs
from duetime.registry.transactions import HandlerTransactions
from duetime.store.base import Store
from duetime.telemetry.meters import Meters
from duetime.telemetry.tracing import Tracing


class Companion(Protocol):
    """A service that an app runs beside its worker, such as row transitions."""

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """May be cancelled, and called again."""

    def woken(self, lanes: Sequence[str]) -> None:
        """Rows of these tables were changed in another process; without lanes, anything may have
        changed."""


@dataclass(frozen=True, slots=True)
class AppRuntime:
    """The services of one app: store, payloads, handlers, events, meters, declared jobs.

    `dataclasses.replace` makes a runtime of the same declarations on another store: what is
    declared in one of them is declared in both.
    """

    store: Store
    payloads: Payloads
    handlers: Handlers
    events: Events
    meters: Meters
    clock: Clock
    jobs: DeclaredJobs = field(default_factory=DeclaredJobs)
    declarations: DeclarationSignal = field(default_factory=DeclarationSignal)
    subscriber_kinds: SubscriberKinds = field(default_factory=dict)
    # Makes the SQLAlchemy sessions of transactional handlers.
    sessions: Callable[[], Any] | None = None
    # Workers and transition runners that run in this process, on the app's store and clock. Weak:
    # what was abandoned with its event loop does not run any more.
    running: WeakSet[object] = field(default_factory=WeakSet)
    tracing: Tracing = field(default_factory=Tracing)
    # What code subscribes to, to be stored by every process that runs a worker.
    subscribed: list[SubscriptionTerms] = field(default_factory=list)
    channels: ChannelRules = field(default_factory=ChannelRules)
    interest: NotificationInterest = field(init=False)
    outbox: Outbox = field(init=False)
    outbox_store: OutboxStore = field(init=False)
    transactions: HandlerTransactions = field(init=False)

    def __post_init__(self) -> None:
        interest = NotificationInterest()
        object.__setattr__(self, "interest", interest)
        outbox = Outbox(self.store, TimeOrderedIds(), self.subscriber_kinds, interest)
        object.__setattr__(self, "outbox", outbox)
        object.__setattr__(self, "outbox_store", OutboxStore(self.store, outbox))
        object.__setattr__(self, "transactions", HandlerTransactions(self.store, self.sessions))
