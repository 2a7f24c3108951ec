"""Single messages: the one that asks an address to confirm, and the one that tests a
subscription."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.clock import SECOND
from duetime.model.notifications.delivery import SealedNotification
from duetime.model.notifications.event import StoredEvent, event_text
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import IN_APP, StoredSubscription
from duetime.model.notifications.topics import CONFIRM_TOPIC, TEST_TOPIC, Severity
from duetime.words.phrase import phrase

# A tenant must not be able to send many mails to people who did not ask for them.
MAX_CONFIRMATIONS = 20
CONFIRMATION_WINDOW = 86_400 * SECOND

# Beside the two parts of a minute.
PARTS: Mapping[str, int] = {TEST_TOPIC: 2, CONFIRM_TOPIC: 3}


def single_message(
    subscription: StoredSubscription, topic: str, message_id: UUID, now: int
) -> StoredNotification:
    """Return a notification of a topic that no event has, to be sent at once."""
    terms = subscription.terms
    event = StoredEvent(message_id, now, topic, terms.tenant, str(subscription.id), {})
    return StoredNotification(
        id=message_id,
        subscription_id=subscription.id,
        channel=terms.channel,
        tenant=terms.tenant,
        everywhere=terms.everywhere,
        minute=now,
        part=PARTS[topic],
        due_at=now,
        first_at=now,
        last_at=now,
        topic=topic,
        severity=Severity.info,
        count=1,
        events=(event_text(event),),
        sealed_at=now if terms.channel == IN_APP else None,
    )


def undeliverable(sealed: SealedNotification) -> str | None:
    """Return why a notification is not sent any more; None if it is."""
    subscription, topic = sealed.subscription, sealed.notification.topic
    if subscription is None:
        return "its subscription was removed"
    if subscription.ended_at is not None:
        return f"its subscription has ended: {subscription.end_reason}"
    confirms, is_confirmed = topic == CONFIRM_TOPIC, subscription.confirmed_at is not None
    if confirms == is_confirmed:
        return "its address is confirmed" if confirms else "its address is not confirmed"
    if subscription.muted(sealed.now) and topic != TEST_TOPIC:
        return "its subscription is muted"
    return None


def refuse_more_confirmations(sent: int) -> None:
    """Raise InvalidArgument if as many confirmations were asked for within CONFIRMATION_WINDOW as
    may be."""
    if sent >= MAX_CONFIRMATIONS:
        remedy = phrase(
            "{most} addresses were asked to confirm within a day: try again tomorrow",
            most=MAX_CONFIRMATIONS,
        )
        raise InvalidArgument("email", sent, remedy)
