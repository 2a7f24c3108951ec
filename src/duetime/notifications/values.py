"""The values that templates may name, each with what it holds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import SubscriptionTerms
from duetime.notifications.links import link_to_subject
from duetime.notifications.message_data import one_line, shown_data
from duetime.notifications.strings import MessageStrings

# Of every template. `first` is the first of `events`, and `more` how many others are not listed.
# `unsubscribe_link` and `confirm_link` act for the reader; a message has one of them at most.
MESSAGE_NAMES = frozenset(
    {
        *("topic", "severity", "severity_name", "tenant", "address", "language", "count", "more"),
        *("events", "first", "first_at", "last_at", "link", "unsubscribe_link", "confirm_link"),
    }
)
# Of message.txt, message.html and the HTML of a topic: what the blocks of its template say.
LAYOUT_NAMES = frozenset({"subject", "lines", "advice"})


class LineValues(NamedTuple):
    """The line about an event, the page of what it is about, and when it happened."""

    text: str
    link: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventValues:
    """What templates may say of an event. What is not known of it is None."""

    at: datetime
    topic: str
    severity: str
    severity_name: str
    tenant: str | None
    subject: str
    ended: bool
    link: str | None
    kind: str | None = None
    action_id: str | None = None
    correlation_id: str | None = None
    error: str | None = None
    job: str | None = None
    consecutive_failures: int | None = None
    by: str | None = None
    note: str | None = None
    until: str | int | None = None
    count: int | None = None
    queue: str | None = None
    seconds: float | None = None
    worker: str | None = None
    model: str | None = None
    column: str | None = None
    key: str | None = None


EVENT_NAMES = frozenset(f.name for f in fields(EventValues))
# Those that come from the data of an event.
EVENT_DATA = frozenset(f.name for f in fields(EventValues) if f.default is None)


def message_values(
    notification: Notification,
    terms: SubscriptionTerms,
    strings: MessageStrings,
    link: str | None,
    base_url: str | None,
) -> dict[str, Any]:
    events = tuple(_event_values(event, terms, strings, base_url) for event in notification.events)
    return {
        "topic": notification.topic,
        "severity": str(notification.severity),
        "severity_name": strings.severities[notification.severity],
        "tenant": _maybe_one_line(notification.tenant),
        "address": one_line(terms.address),
        "language": terms.language,
        "count": notification.count,
        "more": notification.count - len(events),
        "events": events,
        "first": events[0] if events else None,
        "first_at": notification.first_at,
        "last_at": notification.last_at,
        "link": link,
    }


def _event_values(
    event: NotificationEvent,
    terms: SubscriptionTerms,
    strings: MessageStrings,
    base_url: str | None,
) -> EventValues:
    data = shown_data(event, terms)
    known: dict[str, Any] = {name: data.get(name) for name in EVENT_DATA}
    return EventValues(
        at=event.at,
        topic=event.topic,
        severity=str(event.severity),
        severity_name=strings.severities[event.severity],
        tenant=_maybe_one_line(event.tenant),
        subject=one_line(event.subject),
        ended=event.ended,
        link=link_to_subject(event, base_url),
        **known,
    )


def _maybe_one_line(text: str | None) -> str | None:
    return None if text is None else one_line(text)
