"""Notifications: what one subscription hears of one minute, as one message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from duetime.model.clock import from_micros, maybe_nearest, nearest_micros
from duetime.model.notifications.event import (
    EventData,
    NotificationEvent,
    StoredEvent,
    event_text,
)
from duetime.model.notifications.topics import Severity

# How many of its events a notification lists; of the others it has the number.
MAX_LISTED_EVENTS = 20
# The topic of a notification whose events are of several.
SEVERAL_TOPICS = "several"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNotification:
    """A notification as a store keeps it. Until it is sealed, events of its minute are added.

    `minute` is the instant at which the minute began, `part` 0 for what was known at once and 1 for
    the rest of the minute. `due_at` is when it is sent; in the app, when it is seen.
    """

    id: UUID
    subscription_id: UUID
    channel: str
    tenant: str | None
    everywhere: bool
    minute: int
    part: int
    due_at: int
    first_at: int
    last_at: int
    topic: str
    severity: Severity
    count: int
    # JSON texts of the first events, as `event_text` writes them.
    events: tuple[str, ...]
    sealed_at: int | None = None
    sent_at: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message about `count` events of one topic, or of several; `events` has the first of them.
    `id` is the same however often it is sent."""

    id: UUID
    topic: str
    severity: Severity
    tenant: str | None
    count: int
    first_at: datetime
    last_at: datetime
    events: tuple[NotificationEvent, ...]
    subscription_id: UUID
    # Whether the reader who asked has read it.
    read: bool = False


def with_events(
    notification: StoredNotification, events: Sequence[StoredEvent]
) -> StoredNotification:
    """Return the notification with more events."""
    listed = (*notification.events, *(event_text(event) for event in events))[:MAX_LISTED_EVENTS]
    topics = {notification.topic, *(event.topic for event in events)}
    return replace(
        notification,
        events=listed,
        count=notification.count + len(events),
        topic=notification.topic if len(topics) == 1 else SEVERAL_TOPICS,
        severity=max(
            [notification.severity, *(event.severity for event in events)], key=lambda s: s.rank
        ),
        first_at=min([notification.first_at, *(event.at for event in events)]),
        last_at=max([notification.last_at, *(event.at for event in events)]),
    )


def as_notification(stored: StoredNotification, *, read: bool = False) -> Notification:
    return Notification(
        id=stored.id,
        topic=stored.topic,
        severity=stored.severity,
        tenant=stored.tenant,
        count=stored.count,
        first_at=from_micros(nearest_micros(stored.first_at)),
        last_at=from_micros(nearest_micros(stored.last_at)),
        events=tuple(_event_of(text) for text in stored.events),
        subscription_id=stored.subscription_id,
        read=read,
    )


def _event_of(text: str) -> NotificationEvent:
    value = json.loads(text)
    data: EventData = value["data"]
    at = maybe_nearest(value["at"]) or from_micros(0)
    return NotificationEvent(
        at, value["topic"], value["tenant"], value["subject"], data, value["ended"]
    )
