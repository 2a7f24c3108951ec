"""The contract of notifications: events, subscriptions, and what is gathered from them.

Stores decide nothing of it: `duetime.model.notifications` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from uuid import UUID

from duetime.model.act import Act
from duetime.model.notifications.delivery import (
    GatherResult,
    ListedNotification,
    NotificationFilter,
    SealedNotification,
)
from duetime.model.notifications.episodes import Episode, EpisodeChanges
from duetime.model.notifications.erasing import EventErasure
from duetime.model.notifications.event import NewEvent
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import StoredSubscription
from duetime.model.tenant import Scope
from duetime.store.flow import Flow

# Returns a subscription as it is from the instant `now` on. May be called again.
SubscriptionEdit = Callable[[StoredSubscription, int], StoredSubscription]


class NotificationContract(ABC):
    """The verbs of notifications, a part of `duetime.store.base.Store`."""

    # -- events ----------------------------------------------------------------------

    @abstractmethod
    def add_events(self, events: Sequence[NewEvent]) -> Flow[None]:
        """Insert events at the store's now, if there is any subscription; wakes with EVENTS_LANE.
        Concurrent transactions that add events never wait for each other."""

    @abstractmethod
    def gather_events(self, *, lag: int, limit: int) -> Flow[GatherResult]:
        """Take up to `limit` events, the oldest ids first, and change notifications as
        `model.notifications.gathering.gather` decides; insert the actions that send the new ones,
        all in one transaction. One process gathers at a time: while another does, nothing is done,
        and the result is `busy`."""

    @abstractmethod
    def change_episodes(self, present: Sequence[Episode]) -> Flow[EpisodeChanges]:
        """Make these the open episodes, as `model.notifications.episodes.compare_episodes` decides,
        and add its events. Of several processes that report the same, one changes anything."""

    # -- subscriptions ---------------------------------------------------------------

    @abstractmethod
    def subscriptions(self, scope: Scope) -> Flow[list[StoredSubscription]]:
        """Return the subscriptions that readers of this scope see, oldest first by id. One that
        this version cannot read is left out."""

    @abstractmethod
    def subscription(self, subscription_id: UUID, scope: Scope) -> Flow[StoredSubscription]:
        """Return a subscription. SubscriptionNotFound outside the scope."""

    @abstractmethod
    def add_subscription(self, new: StoredSubscription, act: Act) -> Flow[StoredSubscription]:
        """Store a subscription of people or programs, audited, created now. One by e-mail is not
        confirmed: the action that asks for that is inserted, too. Any other is confirmed.
        InvalidArgument if its scope has MAX_SUBSCRIPTIONS, or had MAX_CONFIRMATIONS within
        CONFIRMATION_WINDOW."""

    @abstractmethod
    def edit_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act, verb: str, edit: SubscriptionEdit
    ) -> Flow[StoredSubscription]:
        """Change a subscription under its lock, audited, unless the edit changes nothing.
        SubscriptionNotFound outside the scope."""

    @abstractmethod
    def remove_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act
    ) -> Flow[StoredSubscription]:
        """Delete a subscription, audited, and return it. SubscriptionNotFound outside the scope."""

    @abstractmethod
    def declare_subscriptions(self, declared: Sequence[StoredSubscription]) -> Flow[None]:
        """Store what code subscribes to, seen and confirmed now. One that is stored already keeps
        everything but `seen_at`: it may have been muted or ended. Those of the same apps that are
        not seen any more, as DECLARED_FOR says, are deleted."""

    @abstractmethod
    def send_single(
        self, subscription_id: UUID, scope: Scope, topic: str, act: Act
    ) -> Flow[StoredNotification]:
        """Add a message of TEST_TOPIC or CONFIRM_TOPIC, with the action that sends it, audited.
        SubscriptionNotFound outside the scope; InvalidArgument if its scope had MAX_CONFIRMATIONS
        within CONFIRMATION_WINDOW."""

    # -- notifications ---------------------------------------------------------------

    @abstractmethod
    def seal_notification(self, notification_id: UUID) -> Flow[SealedNotification | None]:
        """Seal a notification, so that it can be sent as it is; None if there is none."""

    @abstractmethod
    def settle_notification(self, notification_id: UUID, error: str | None) -> Flow[None]:
        """Record that a notification was sent, or why it never will be."""

    @abstractmethod
    def notifications(self, wanted: NotificationFilter) -> Flow[list[ListedNotification]]:
        """Return notifications in the app that are due and that readers of the scope see, newest
        first by id."""

    @abstractmethod
    def count_unread(self, scope: Scope, reader: str, limit: int) -> Flow[int]:
        """Count up to `limit` of the notifications in the app that a reader has not read."""

    @abstractmethod
    def read_notifications(
        self, scope: Scope, reader: str, ids: Sequence[UUID] | None
    ) -> Flow[int]:
        """Mark these notifications in the app, or all that are due, as read by a reader; return how
        many were unread. Those outside the scope count as none."""

    @abstractmethod
    def erase_events(self, erasure: EventErasure) -> Flow[None]:
        """Wipe what events and notifications say of an erased action or tenant, as
        `model.notifications.erasing` decides. Those of other tenants in the same notification
        stay."""

    @abstractmethod
    def prune_notifications(self, *, keep: int, limit: int) -> Flow[int]:
        """Delete up to `limit` notifications of minutes that began more than `keep` microseconds
        ago, with their read marks, and as many events that nobody gathers; return the most."""
