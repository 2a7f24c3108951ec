"""Erasures in notifications: what they say of an erased action or tenant is wiped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from duetime.model.notifications.notification import StoredNotification
from duetime.model.tenant import Scope, sees

# What events say in the words of users.
PERSONAL = ("error", "correlation_id", "note", "key")


@dataclass(frozen=True, slots=True)
class EventErasure:
    """Which events to wipe: those of a scope; with a correlation id, only those that name it."""

    scope: Scope
    correlation_id: str | None = None

    def concerns(self, tenant: str | None, data: Mapping[str, object]) -> bool:
        named = self.correlation_id is None or data.get("correlation_id") == self.correlation_id
        return named and sees(self.scope, tenant)


def wiped_data(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if name in PERSONAL else value for name, value in data.items()}


def wiped_notification(
    notification: StoredNotification, erasure: EventErasure
) -> StoredNotification:
    """Return the notification without what it says of the erased events."""
    events = tuple(_wiped_text(text, erasure) for text in notification.events)
    return replace(notification, events=events)


def _wiped_text(text: str, erasure: EventErasure) -> str:
    value = json.loads(text)
    if not erasure.concerns(value["tenant"], value["data"]):
        return text
    return json.dumps(value | {"data": wiped_data(value["data"])})
