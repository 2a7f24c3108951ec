"""Deliveries: the action that sends a notification, and what a store returns for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.model.actions.action import NewAction
from duetime.model.ids import NewId
from duetime.model.lane import Priority, lane_of
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import IN_APP, StoredSubscription
from duetime.model.notifications.topics import Severity
from duetime.model.tenant import SYSTEM, Scope

# The kind of the actions that send notifications, and their queue, which cannot be paused.
NOTIFY_KIND = "duetime.notify"
NOTIFY_QUEUE = "duetime"
# Kinds that begin so are duetime's own: nobody schedules them, and nothing is notified about them.
OWN_KINDS = "duetime."


@dataclass(frozen=True, slots=True)
class GatherResult:
    """What a gathering did: how many events it took, and whether another process was at it."""

    taken: int = 0
    notified: int = 0
    busy: bool = False


@dataclass(frozen=True, slots=True)
class SealedNotification:
    """A notification to which no more events are added, its subscription (None if it was removed),
    and the store's time."""

    notification: StoredNotification
    subscription: StoredSubscription | None
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationFilter:
    """Which notifications in the app to list: the newest first, below an id."""

    scope: Scope
    reader: str
    unread: bool = False
    limit: int = 50
    below: UUID | None = None


@dataclass(frozen=True, slots=True)
class ListedNotification:
    """A notification in the app, and whether its reader has marked it as read."""

    notification: StoredNotification
    read: bool


def is_own_kind(kind: str) -> bool:
    return kind.startswith(OWN_KINDS)


def is_notifier(queues: Sequence[str]) -> bool:
    """Return whether a worker only sends notifications, as that of `duetime serve --no-worker`."""
    return tuple(queues) == (NOTIFY_QUEUE,)


def delivery_actions(notifications: Sequence[StoredNotification], new_id: NewId) -> list[NewAction]:
    """Return the actions that send notifications; those in the app are not sent."""
    return [_delivery(each, new_id()) for each in notifications if each.channel != IN_APP]


def _priority(notification: StoredNotification) -> Priority:
    """Return how urgent a delivery is: what is critical first, and the operator's before what
    tenants ask for, whose addresses may be slow."""
    if notification.severity is Severity.critical:
        return Priority.critical
    return Priority.high if notification.tenant is None else Priority.normal


def _delivery(notification: StoredNotification, action_id: UUID) -> NewAction:
    rank = _priority(notification).rank
    return NewAction(
        id=action_id,
        kind=NOTIFY_KIND,
        version=1,
        payload=json.dumps({"notification": str(notification.id)}),
        queue=NOTIFY_QUEUE,
        priority=rank,
        tenant=None,
        correlation_id=None,
        key=None,
        lane=lane_of(NOTIFY_QUEUE, rank, None),
        due_at=notification.due_at,
        delay=None,
        by=SYSTEM,
    )
