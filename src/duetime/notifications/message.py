"""Messages: notifications in the words of a subscription, ready to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.topics import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a transport sends, and to whom.

    `id` is the same however often a message is sent, so that the other side can tell a repetition.
    `subject`, `text` and `html` are in the language of the subscription; `data` says it for
    programs, as JSON values. `count` is the number of events, `events` the first of them. `link`
    leads to the dashboard, and `unsubscribe_link` ends the subscription; None without a `base_url`.
    """

    id: UUID
    subscription_id: UUID
    channel: str
    to: str
    topic: str
    severity: Severity
    tenant: str | None
    language: str
    zone: str
    count: int
    subject: str
    text: str
    html: str
    link: str | None
    unsubscribe_link: str | None
    at: datetime
    events: tuple[NotificationEvent, ...]
    data: Mapping[str, Any]
    # What signs a webhook: `whsec_...`. None for other channels.
    secret: str | None = field(default=None, repr=False)
