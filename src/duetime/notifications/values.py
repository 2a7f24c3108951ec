"""The values that templates may name, each with what it holds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from duetime.model.access.masking import error_class
from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import SubscriptionTerms
from duetime.model.safe_text import safe_text
from duetime.notifications.links import link_to_page, link_to_subject
from duetime.notifications.strings import MessageStrings

MAX_TEXT = 300
# What templates name beside those of MessageValues: made from the blocks of a topic's template.
LAYOUT_VALUES = frozenset({"subject", "lines", "advice"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageValues:
    """What templates may say of a message. `first` is the first of `events`, and `more` how many
    others there are that are not listed. `unsubscribe_link` and `confirm_link` act for the reader;
    a message has one of them."""

    topic: str
    count: int
    events: tuple[EventValues, ...] = ()
    more: int = 0
    severity: str | None = None
    severity_name: str | None = None
    tenant: str | None = None
    address: str
    language: str
    first_at: datetime | None = None
    last_at: datetime | None = None
    link: str | None = None
    unsubscribe_link: str | None = None
    confirm_link: str | None = None

    @property
    def first(self) -> EventValues | None:
        return self.events[0] if self.events else None


# The fields of a dataclass that is filled in from the data of an event.
EVENT_DATA = frozenset(f.name for f in fields(EventValues) if f.default is None)
EVENT_NAMES = frozenset(f.name for f in fields(EventValues))
MESSAGE_NAMES = frozenset({"first", *(f.name for f in fields(MessageValues))})


def values_of(
    notification: Notification,
    terms: SubscriptionTerms,
    strings: MessageStrings,
    base_url: str | None,
    unsubscribe_link: str | None,
) -> MessageValues:
    events = tuple(_event_values(event, terms, strings, base_url) for event in notification.events)
    return MessageValues(
        topic=notification.topic,
        count=notification.count,
        events=events,
        more=notification.count - len(events),
        severity=str(notification.severity),
        severity_name=strings.severities[notification.severity],
        tenant=_shown(notification.tenant),
        address=safe_text(terms.address),
        language=terms.language,
        first_at=notification.first_at,
        last_at=notification.last_at,
        link=link_to_page(notification, base_url),
        unsubscribe_link=unsubscribe_link,
    )


def _event_values(
    event: NotificationEvent,
    terms: SubscriptionTerms,
    strings: MessageStrings,
    base_url: str | None,
) -> EventValues:
    data = shown_data(event, terms)
    return EventValues(
        at=event.at,
        topic=event.topic,
        severity=str(event.severity),
        severity_name=strings.severities[event.severity],
        tenant=_shown(event.tenant),
        subject=_shown(event.subject) or "",
        ended=event.ended,
        link=link_to_subject(event, base_url),
        **{name: data.get(name) for name in EVENT_DATA},  # type: ignore[arg-type]
    )


def shown_data(
    event: NotificationEvent, terms: SubscriptionTerms
) -> dict[str, str | int | float | bool | None]:
    """Return the data of an event as a subscription may have it: texts cut and on one line, of an
    error only its class unless the subscription shows errors."""
    data = dict(event.data)
    error = data.get("error")
    if isinstance(error, str) and not terms.show_errors:
        data["error"] = error_class(error)
    texts = {name: _shown(value) for name, value in data.items() if isinstance(value, str)}
    return data | texts


def _shown(text: str | None) -> str | None:
    """Return a text of users on one line, and cut."""
    if text is None:
        return None
    return safe_text(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")
