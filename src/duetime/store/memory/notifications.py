"""Events, notifications, episodes and subscriptions in a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from duetime.errors import SubscriptionNotFound
from duetime.model.act import SYSTEM_ACT, Act
from duetime.model.actions.action import NewAction
from duetime.model.actions.new_actions import IfExists
from duetime.model.ids import NewId
from duetime.model.lane import EVENTS_LANE
from duetime.model.notifications.declared import declared_changes
from duetime.model.notifications.delivery import (
    GatherResult,
    ListedNotification,
    NotificationFilter,
    SealedNotification,
    delivery_actions,
)
from duetime.model.notifications.episodes import Episode, EpisodeChanges, compare_episodes
from duetime.model.notifications.erasing import (
    EventErasure,
    wiped_data,
    wiped_notification,
)
from duetime.model.notifications.event import NewEvent, StoredEvent
from duetime.model.notifications.gathering import (
    GatheringFacts,
    earliest_minute,
    gather,
    not_later,
)
from duetime.model.notifications.mailing import (
    CONFIRMATION_WINDOW,
    PARTS,
    refuse_more_confirmations,
    single_message,
)
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import (
    EMAIL,
    IN_APP,
    StoredSubscription,
    in_scope,
    is_seen,
    new_subscription,
    refuse_more_subscriptions,
    snapshot,
    terms_scope,
)
from duetime.model.notifications.topics import CONFIRM_TOPIC
from duetime.model.tenant import ANY, Scope
from duetime.store.contract.notifications import NotificationContract, SubscriptionEdit
from duetime.store.flow import Wake, immediate
from duetime.store.memory.tables import Tables


class MemoryNotifications(NotificationContract, ABC):
    """Plain code, as everything in this store."""

    _tables: Tables
    _wakes: list[Wake]
    _ids: NewId

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _add_one(self, new: NewAction, if_exists: IfExists, now: int, act: Act) -> UUID: ...

    @abstractmethod
    def _audit(
        self,
        verb: str,
        act: Act,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None: ...

    # -- events ----------------------------------------------------------------------

    @immediate
    def add_events(self, events: Sequence[NewEvent]) -> None:
        self._add_events(events)

    def _add_events(self, events: Sequence[NewEvent]) -> None:
        if not self._tables.subscriptions:
            return
        now = self._now()
        for new in events:
            event_id = self._ids()
            stored = StoredEvent(
                event_id, now, new.topic, new.tenant, new.subject, dict(new.data), new.ended
            )
            self._tables.set_event(event_id, stored)
        self._wakes.append(Wake(EVENTS_LANE, now, now))

    @immediate
    def gather_events(self, *, lag: int, limit: int) -> GatherResult:
        events = [self._tables.events[each] for each in sorted(self._tables.events)[:limit]]
        if not events:
            return GatherResult()
        for event in events:
            self._tables.set_event(event.id, None)
        now = self._now()
        events = not_later(events, now)
        minute = earliest_minute(events)
        facts = GatheringFacts(
            events=events,
            subscriptions=self._subscriptions(ANY),
            known=[n for n in self._tables.notifications.values() if n.minute >= minute],
            now=now,
            lag=lag,
        )
        gathered = gather(facts, self._ids)
        self._insert_notifications(gathered.new)
        for grown in gathered.grown:
            self._tables.set_notification(grown.id, grown)
        return GatherResult(len(events), len(gathered.new) + len(gathered.grown))

    def _insert_notifications(self, new: Sequence[StoredNotification]) -> None:
        for notification in new:
            self._tables.set_notification(notification.id, notification)
        for action in delivery_actions(new, self._ids):
            self._add_one(action, "return", self._now(), SYSTEM_ACT)

    @immediate
    def change_episodes(self, present: Sequence[Episode]) -> EpisodeChanges:
        changes = compare_episodes([*self._tables.episodes.values()], present)
        for episode in changes.over:
            self._tables.set_episode(episode.key, None)
        for episode in changes.begun:
            self._tables.set_episode(episode.key, episode)
        if changes.events:
            self._add_events(changes.events)
        return changes

    # -- subscriptions ---------------------------------------------------------------

    @immediate
    def subscriptions(self, scope: Scope) -> list[StoredSubscription]:
        return self._subscriptions(scope)

    def _subscriptions(self, scope: Scope) -> list[StoredSubscription]:
        found = (each for each in self._tables.subscriptions.values() if in_scope(each, scope))
        return sorted(found, key=lambda each: each.id)

    @immediate
    def subscription(self, subscription_id: UUID, scope: Scope) -> StoredSubscription:
        return self._subscription(subscription_id, scope)

    def _subscription(self, subscription_id: UUID, scope: Scope) -> StoredSubscription:
        found = self._tables.subscriptions.get(subscription_id)
        if found is None or not in_scope(found, scope):
            raise SubscriptionNotFound(subscription_id)
        return found

    @immediate
    def add_subscription(self, new: StoredSubscription, act: Act) -> StoredSubscription:
        refuse_more_subscriptions(new.terms, self._subscriptions(terms_scope(new.terms)))
        stored = new_subscription(new, self._now(), act.by)
        self._set_subscription("subscribe", act, None, stored)
        if stored.terms.channel == EMAIL:
            self._send_single(stored, CONFIRM_TOPIC)
        return stored

    @immediate
    def edit_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act, verb: str, edit: SubscriptionEdit
    ) -> StoredSubscription:
        before = self._subscription(subscription_id, scope)
        after = edit(before, self._now())
        if after == before:
            return before
        after = replace(after, modified_at=self._now(), modified_by=act.by)
        self._set_subscription(verb, act, before, after)
        return after

    @immediate
    def remove_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act
    ) -> StoredSubscription:
        before = self._subscription(subscription_id, scope)
        self._set_subscription("remove", act, before, None)
        return before

    @immediate
    def declare_subscriptions(self, declared: Sequence[StoredSubscription]) -> None:
        changes = declared_changes(self._subscriptions(ANY), declared, self._now())
        for subscription in (*changes.new, *changes.seen):
            self._tables.set_subscription(subscription.id, subscription)
        for subscription in changes.gone:
            self._tables.set_subscription(subscription.id, None)
        if changes.new or changes.gone:
            self._tables.advance_notifier()

    @immediate
    def send_single(
        self, subscription_id: UUID, scope: Scope, topic: str, act: Act
    ) -> StoredNotification:
        subscription = self._subscription(subscription_id, scope)
        sent = self._send_single(subscription, topic)
        verb = "ask-to-confirm" if topic == CONFIRM_TOPIC else topic
        self._audit_subscription(verb, act, subscription, subscription)
        return sent

    def _send_single(self, subscription: StoredSubscription, topic: str) -> StoredNotification:
        if topic == CONFIRM_TOPIC:
            refuse_more_confirmations(sum(1 for _ in self._confirmations(subscription)))
        message = single_message(subscription, topic, self._ids(), self._now())
        self._insert_notifications([message])
        return message

    def _confirmations(self, subscription: StoredSubscription) -> Iterator[StoredNotification]:
        since, tenant = self._now() - CONFIRMATION_WINDOW, subscription.terms.tenant
        for sent in self._tables.notifications.values():
            is_recent = sent.part == PARTS[CONFIRM_TOPIC] and sent.minute >= since
            if is_recent and sent.tenant == tenant:
                yield sent

    def _set_subscription(
        self,
        verb: str,
        act: Act,
        before: StoredSubscription | None,
        after: StoredSubscription | None,
    ) -> None:
        for each in (before, after):
            if each is not None:
                self._tables.set_subscription(each.id, after)
        self._tables.advance_notifier()
        self._audit_subscription(verb, act, before, after)

    def _audit_subscription(
        self,
        verb: str,
        act: Act,
        before: StoredSubscription | None,
        after: StoredSubscription | None,
    ) -> None:
        snapshots = [{} if each is None else snapshot(each) for each in (before, after)]
        of = after or before
        if of is not None:
            self._audit(verb, act, ("subscription", str(of.id)), of.terms.tenant, *snapshots)

    # -- notifications ---------------------------------------------------------------

    @immediate
    def seal_notification(self, notification_id: UUID) -> SealedNotification | None:
        stored, now = self._tables.notifications.get(notification_id), self._now()
        if stored is None:
            return None
        if stored.sealed_at is None:
            stored = replace(stored, sealed_at=now)
            self._tables.set_notification(stored.id, stored)
        subscription = self._tables.subscriptions.get(stored.subscription_id)
        return SealedNotification(stored, subscription, now)

    @immediate
    def settle_notification(self, notification_id: UUID, error: str | None) -> None:
        stored = self._tables.notifications.get(notification_id)
        if stored is not None:
            sent_at = self._now() if error is None else None
            settled = replace(stored, sent_at=sent_at, error=error)
            self._tables.set_notification(stored.id, settled)

    @immediate
    def notifications(self, wanted: NotificationFilter) -> list[ListedNotification]:
        found = [
            ListedNotification(each, (wanted.reader, each.id) in self._tables.reads)
            for each in self._visible_notifications(wanted.scope)
            if wanted.below is None or each.id < wanted.below
        ]
        return [each for each in found if not (wanted.unread and each.read)][: wanted.limit]

    @immediate
    def count_unread(self, scope: Scope, reader: str, limit: int) -> int:
        return min(len(self._unread(scope, reader)), limit)

    @immediate
    def read_notifications(self, scope: Scope, reader: str, ids: Sequence[UUID] | None) -> int:
        unread = [each for each in self._unread(scope, reader) if ids is None or each in ids]
        for notification_id in unread:
            self._tables.set_read(reader, notification_id, True)
        return len(unread)

    def _unread(self, scope: Scope, reader: str) -> list[UUID]:
        visible = (each.id for each in self._visible_notifications(scope))
        return [each for each in visible if (reader, each) not in self._tables.reads]

    def _visible_notifications(self, scope: Scope) -> list[StoredNotification]:
        """Return notifications in the app that readers of the scope see, newest first."""
        now = self._now()
        found = (
            each
            for each in self._tables.notifications.values()
            if each.channel == IN_APP
            and each.due_at <= now
            and is_seen(scope, each.tenant, each.everywhere)
        )
        return sorted(found, key=lambda each: each.id, reverse=True)

    @immediate
    def erase_events(self, erasure: EventErasure) -> None:
        for event in [*self._tables.events.values()]:
            if erasure.concerns(event.tenant, event.data):
                wiped = replace(event, data=wiped_data(event.data))
                self._tables.set_event(event.id, wiped)
        for notification in [*self._tables.notifications.values()]:
            wiped_one = wiped_notification(notification, erasure)
            self._tables.set_notification(notification.id, wiped_one)

    @immediate
    def prune_notifications(self, *, keep: int, limit: int) -> int:
        before = self._now() - keep
        notifications = [n for n in self._tables.notifications.values() if n.minute < before]
        old = sorted(notifications, key=lambda each: each.minute)[:limit]
        for notification in old:
            self._tables.set_notification(notification.id, None)
        for reader, notification_id in [*self._tables.reads]:
            if notification_id not in self._tables.notifications:
                self._tables.set_read(reader, notification_id, None)
        events = [event.id for event in self._tables.events.values() if event.at < before][:limit]
        for event_id in events:
            self._tables.set_event(event_id, None)
        return max(len(old), len(events))
