"""What an app does in the transactions of its row transitions; loads no SQLAlchemy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from duetime.api.requests import Request
from duetime.api.sync_api import SyncDuetime
from duetime.errors import ConfigError
from duetime.events.notices import parked_notice
from duetime.events.types import Event, TransitionApplied
from duetime.model.act import Act
from duetime.model.trace import current_trace
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.flow import Flow

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from duetime.model.transition import RowError

Snapshot = Mapping[str, object]


class HostsTransitions:
    """An app whose transitions insert actions, events and audit entries."""

    sync: SyncDuetime

    @property
    @abstractmethod
    def runtime(self) -> AppRuntime: ...

    @property
    @abstractmethod
    def store(self) -> Store: ...

    @abstractmethod
    def request(self, payload: Any) -> Request: ...

    def _check_durable(self, event: type[Event]) -> None:
        """Raise ConfigError if actions for this event cannot be inserted with its change."""
        if event is TransitionApplied and "transitions" in vars(self):
            vars(self)["transitions"].check_durable_subscriber()

    def _insert_actions(
        self, session: object, payloads: Sequence[Any], events: Sequence[Event]
    ) -> None:
        """Insert the actions of transitions, and those of durable subscribers, in the transaction
        that applies the transitions."""
        requests = [
            item if isinstance(item, Request | tuple) else self.request(item) for item in payloads
        ]
        if requests:
            self.sync.schedule_many(requests, connection=session)
        if self.runtime.outbox.has_subscribers(TransitionApplied):
            flow = Flow(partial(self.runtime.outbox.insert, events, current_trace()))
            self.store.join(session).perform_blocking(flow)

    def _audit_transition(
        self, session: object, act: Act, name: str, before: Snapshot, after: Snapshot
    ) -> None:
        """Write an audit entry in this session's transaction; without one, in the store's own."""
        entry = self.store.audit_transition("retry", act, name, before, after)
        place = self.store if session is None else self.store.join(session)
        place.perform_blocking(entry)

    def _check_store(self, session: object) -> None:
        """Raise ConfigError unless the session leads to the store's database. Creates the store's
        tables first, before the session takes locks that would block their creation."""
        self.sync.find(limit=1)
        self.sync.find(limit=1, connection=session)

    def _row_parked(self, session: Session, error: RowError) -> None:
        """Append an event for notifications, in this session's transaction; if that is on another
        database, in the store's own, before the session commits."""
        if not self.runtime.interest.wants("transition-parked"):
            return
        event = self.store.add_events([parked_notice(error)])
        try:
            with session.begin_nested():
                self.store.join(session).perform_blocking(event)
        except ConfigError:
            self.store.perform_blocking(event)
