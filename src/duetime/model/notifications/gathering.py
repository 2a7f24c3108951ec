"""Gathering: which notifications a batch of events becomes, at most two for each subscription and
clock minute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from duetime.model.clock import SECOND
from duetime.model.ids import NewId
from duetime.model.notifications.event import StoredEvent, event_text
from duetime.model.notifications.notification import StoredNotification, with_events
from duetime.model.notifications.subscription import (
    IN_APP,
    StoredSubscription,
    quiet_until,
    wants,
)
from duetime.model.notifications.topics import Severity

MINUTE = 60 * SECOND
FIRST_PART, REST_PART = 0, 1

# What tells one notification of a subscription from another: the minute, and the part of it.
Slot = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GatheredNotifications:
    """The notifications to insert, and those to be replaced by themselves with more events."""

    new: Sequence[StoredNotification]
    grown: Sequence[StoredNotification]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheringFacts:
    """What a gathering decides by. `known` are the notifications of the minutes of these events,
    and of later ones; `unreadable` are the slots of those that this version cannot read, by
    subscription. `lag` is how long events of a minute may take to be gathered after its end, in
    microseconds."""

    events: Sequence[StoredEvent]
    subscriptions: Sequence[StoredSubscription]
    known: Sequence[StoredNotification]
    now: int
    lag: int
    unreadable: Collection[tuple[UUID, Slot]] = frozenset()


class EventsByTopic:
    """Events by topic and tenant: of thousands of subscriptions, each looks at its own only."""

    def __init__(self, events: Iterable[StoredEvent]) -> None:
        self._all: dict[str, list[StoredEvent]] = {}
        self._of_tenant: dict[tuple[str, str | None], list[StoredEvent]] = {}
        for event in events:
            self._all.setdefault(event.topic, []).append(event)
            self._of_tenant.setdefault((event.topic, event.tenant), []).append(event)

    def wanted(self, subscription: StoredSubscription, now: int) -> list[StoredEvent]:
        """Return what a subscription is to hear of, in the order of the ids."""
        terms = subscription.terms
        found = [
            event
            for topic in terms.topics
            for event in (
                self._all.get(topic, ())
                if terms.everywhere
                else self._of_tenant.get((topic, terms.tenant), ())
            )
            if wants(subscription, event, now)
        ]
        return sorted(found, key=lambda event: event.id)


# What is known of the slots of a subscription: None for one that cannot be read.
KnownSlots = Mapping[Slot, StoredNotification | None]


def gather(facts: GatheringFacts, new_id: NewId) -> GatheredNotifications:
    """Decide what each subscription hears of the events, and when."""
    events, known = EventsByTopic(facts.events), _known_slots(facts)
    gathered = [
        _gather_for(each, wanted, known.get(each.id, {}), facts, new_id)
        for each in facts.subscriptions
        if (wanted := events.wanted(each, facts.now))
    ]
    return GatheredNotifications(
        [new for part in gathered for new in part.new],
        [grown for part in gathered for grown in part.grown],
    )


def minute_of(instant: int) -> int:
    """Return the instant at which the clock minute of another began."""
    return instant - instant % MINUTE


def not_later(events: Iterable[StoredEvent], now: int) -> list[StoredEvent]:
    """Return events as having happened by now: the clock may have been set back since."""
    return [replace(event, at=min(max(event.at, 0), now)) for event in events]


def earliest_minute(events: Iterable[StoredEvent]) -> int:
    return min((minute_of(event.at) for event in events), default=0)


def _known_slots(facts: GatheringFacts) -> Mapping[UUID, KnownSlots]:
    known: dict[UUID, dict[Slot, StoredNotification | None]] = {}
    for each in facts.known:
        known.setdefault(each.subscription_id, {})[each.minute, each.part] = each
    for subscription_id, slot in facts.unreadable:
        known.setdefault(subscription_id, {})[slot] = None
    return known


def _gather_for(
    subscription: StoredSubscription,
    events: Sequence[StoredEvent],
    known: KnownSlots,
    facts: GatheringFacts,
    new_id: NewId,
) -> GatheredNotifications:
    by_slot: dict[Slot, list[StoredEvent]] = {}
    for event in events:
        slot = _slot_of(subscription, event, known, facts.now)
        by_slot.setdefault(slot, []).append(event)
    new, grown = [], []
    for slot, members in by_slot.items():
        before = known.get(slot)
        if before is not None:
            grown.append(with_events(before, members))
        else:
            new.append(_new(subscription, slot, members, facts, new_id))
    return GatheredNotifications(new, grown)


def _slot_of(
    subscription: StoredSubscription,
    event: StoredEvent,
    known: KnownSlots,
    now: int,
) -> Slot:
    """Return the first notification, from the minute of the event on, that may grow, or that there
    is not yet. In quiet hours events that are not critical go to the minute in which these end."""
    quiet = None if event.severity is Severity.critical else quiet_until(subscription.terms, now)
    minute = minute_of(event.at if quiet is None else quiet)
    while True:
        for part in (FIRST_PART, REST_PART):
            slot = (minute, part)
            if slot not in known or _may_grow(known[slot], now):
                return slot
        minute += MINUTE


def _may_grow(notification: StoredNotification | None, now: int) -> bool:
    """Return whether events may be added: not to what a reader may have marked as read."""
    if notification is None or notification.sealed_at is not None:
        return False
    return notification.channel != IN_APP or notification.due_at > now


def _new(
    subscription: StoredSubscription,
    slot: Slot,
    events: Sequence[StoredEvent],
    facts: GatheringFacts,
    new_id: NewId,
) -> StoredNotification:
    first, terms = events[0], subscription.terms
    due_at = _due_at(subscription, slot, facts)
    # What stands in the app is seen at once, and must not change under its readers.
    sealed = terms.channel == IN_APP and due_at <= facts.now
    alone = StoredNotification(
        id=new_id(),
        subscription_id=subscription.id,
        channel=terms.channel,
        tenant=terms.tenant,
        everywhere=terms.everywhere,
        minute=slot[0],
        part=slot[1],
        due_at=due_at,
        first_at=first.at,
        last_at=first.at,
        topic=first.topic,
        severity=first.severity,
        count=1,
        events=(event_text(first),),
        sealed_at=facts.now if sealed else None,
    )
    return with_events(alone, events[1:])


def _due_at(subscription: StoredSubscription, slot: Slot, facts: GatheringFacts) -> int:
    """Return when a notification is sent: what was known at once now, or when quiet hours end; the
    rest once all events of its minute must have been gathered."""
    minute, part = slot
    if part == REST_PART:
        return max(minute + MINUTE + facts.lag, facts.now)
    quiet = quiet_until(subscription.terms, facts.now)
    held = quiet is not None and minute == minute_of(quiet) and quiet > facts.now
    return quiet if held and quiet is not None else facts.now
