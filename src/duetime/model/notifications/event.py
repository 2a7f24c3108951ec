"""Events that notifications are made of: each is a row, written in the transaction that makes it
true."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from duetime.model.clock import from_micros
from duetime.model.notifications.topics import TOPICS, Severity

# What an event says, by name: texts and numbers, never a payload or result.
EventData = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be stored. `subject` is the job, action, queue, worker or row that it is about;
    `ended` says that an episode is over."""

    topic: str
    tenant: str | None
    subject: str
    data: EventData
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as a store keeps it until it is gathered; `at` in microseconds."""

    id: UUID
    at: int
    topic: str
    tenant: str | None
    subject: str
    data: EventData
    ended: bool = False

    @property
    def severity(self) -> Severity:
        return severity_of(self.topic, self.ended)


@dataclass(frozen=True, slots=True)
class NotificationEvent:
    """Something that happened, as notifications list it.

    `data` has, where they are known: `kind`, `action_id`, `correlation_id` and `error` of an
    action; `job`, `consecutive_failures`, `error`, `by`, `note` and `until` of a job; `count`,
    `queue` and `seconds` of overdue work; `worker`; `model`, `column`, `key` of a row.
    """

    at: datetime
    topic: str
    tenant: str | None
    subject: str
    data: EventData
    ended: bool = False

    @property
    def severity(self) -> Severity:
        return severity_of(self.topic, self.ended)


def severity_of(topic: str, ended: bool) -> Severity:
    """Return the severity of a topic's event. The end of an episode is no more than information."""
    if ended or topic not in TOPICS:
        return Severity.info
    return TOPICS[topic].severity


def as_notification_event(stored: StoredEvent) -> NotificationEvent:
    at = from_micros(stored.at)
    return NotificationEvent(
        at, stored.topic, stored.tenant, stored.subject, stored.data, stored.ended
    )


def event_text(event: StoredEvent) -> str:
    """Return the JSON in which a notification keeps an event."""
    return json.dumps(
        {
            "at": event.at,
            "topic": event.topic,
            "tenant": event.tenant,
            "subject": event.subject,
            "data": dict(event.data),
            "ended": event.ended,
        }
    )
