"""What a message says for programs, as JSON values, and what of it a subscription may have."""

from __future__ import annotations

from typing import Any

from duetime.model.access.masking import error_class
from duetime.model.notifications.event import EventData, NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import SubscriptionTerms
from duetime.model.safe_text import safe_text

MAX_TEXT = 300


def message_data(
    notification: Notification, terms: SubscriptionTerms, link: str | None
) -> dict[str, Any]:
    return {
        "id": str(notification.id),
        "subscription_id": str(notification.subscription_id),
        "severity": str(notification.severity),
        "tenant": notification.tenant,
        "count": notification.count,
        "first_at": notification.first_at.isoformat(),
        "last_at": notification.last_at.isoformat(),
        "link": link,
        "events": [_event_data(event, terms) for event in notification.events],
    }


def _event_data(event: NotificationEvent, terms: SubscriptionTerms) -> dict[str, Any]:
    return {
        "at": event.at.isoformat(),
        "topic": event.topic,
        "severity": str(event.severity),
        "tenant": event.tenant,
        "subject": event.subject,
        "ended": event.ended,
        "data": shown_data(event, terms),
    }


def shown_data(event: NotificationEvent, terms: SubscriptionTerms) -> EventData:
    """Return the data of an event as a subscription may have it: texts cut and on one line, of an
    error only its class unless the subscription shows errors."""
    data = dict(event.data)
    error = data.get("error")
    if isinstance(error, str) and not terms.show_errors:
        data["error"] = error_class(error)
    texts = {name: one_line(value) for name, value in data.items() if isinstance(value, str)}
    return data | texts


def one_line(text: str) -> str:
    """Return a text of users on one line, and cut."""
    return safe_text(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")
