"""Renders notifications as messages: in the language, zone and discretion of a subscription."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid5
from zoneinfo import ZoneInfo

from duetime.logs import get_log
from duetime.model.clock import from_micros
from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import WEBHOOK, StoredSubscription, SubscriptionTerms
from duetime.model.notifications.topics import Severity
from duetime.notifications.config import Notifications
from duetime.notifications.environment import MessageTemplates
from duetime.notifications.formats import FORMATS, ReaderFormats
from duetime.notifications.links import link_to_act, link_to_page
from duetime.notifications.message import Message
from duetime.notifications.strings import MessageStrings, strings_of
from duetime.notifications.topic_templates import CONFIRM, template_of, template_of_event
from duetime.notifications.transport import NotConfigured
from duetime.notifications.values import MESSAGE_NAMES, MessageValues, shown_data
from duetime.notifications.values import values_of as notification_values

log = get_log("duetime.notifications")

MAX_SUBJECT = 150


class MessageTexts(NamedTuple):
    """A message in words."""

    subject: str
    text: str
    html: str


class MessageSource(NamedTuple):
    """What a message is written by: a template, and one for the line about each event."""

    values: Callable[[MessageStrings], MessageValues]
    template: str
    lines: tuple[str, ...] = ()


def render(
    notification: Notification,
    subscription: StoredSubscription,
    *,
    base_url: str | None,
    config: Notifications,
) -> Message:
    """Return the message of a notification for a subscription."""
    terms = subscription.terms
    unsubscribe_link = link_to_act("unsubscribe", subscription, base_url)

    def values(strings: MessageStrings) -> MessageValues:
        return notification_values(notification, terms, strings, base_url, unsubscribe_link)

    lines = tuple(template_of_event(event) for event in notification.events)
    texts = _texts(MessageSource(values, template_of(notification), lines), terms, config)
    return Message(
        id=notification.id,
        subscription_id=subscription.id,
        channel=terms.channel,
        to=terms.address,
        topic=notification.topic,
        severity=notification.severity,
        tenant=notification.tenant,
        language=terms.language,
        zone=terms.zone,
        count=notification.count,
        **texts._asdict(),
        link=link_to_page(notification, base_url),
        unsubscribe_link=unsubscribe_link,
        at=notification.last_at,
        events=tuple(_masked(event, terms) for event in notification.events),
        data=_data(notification, terms, base_url),
        secret=_signing_secret(subscription, config),
    )


def render_confirmation(
    subscription: StoredSubscription, *, base_url: str | None, config: Notifications
) -> Message:
    """Return the mail that asks the owner of an address whether it wants messages. NotConfigured
    without a `base_url`, since it holds a link."""
    terms = subscription.terms
    link = link_to_act("confirm", subscription, base_url)
    if link is None:
        raise NotConfigured(
            "an address cannot be confirmed without a base_url: give the address under which "
            "people reach the dashboard, as Duetime(base_url=...)"
        )

    def values(strings: MessageStrings) -> MessageValues:
        return MessageValues(
            topic=CONFIRM,
            count=0,
            address=terms.address,
            language=terms.language,
            confirm_link=link,
        )

    texts = _texts(MessageSource(values, CONFIRM), terms, config)
    return Message(
        # Another one whenever the address or the secret of the link has changed.
        id=uuid5(subscription.id, link),
        subscription_id=subscription.id,
        channel=terms.channel,
        to=terms.address,
        topic=CONFIRM,
        severity=Severity.info,
        tenant=terms.tenant,
        language=terms.language,
        zone=terms.zone,
        count=0,
        **texts._asdict(),
        link=link,
        unsubscribe_link=None,
        at=from_micros(subscription.created_at),
        events=(),
        data={"link": link},
    )


def _texts(wording: MessageSource, terms: SubscriptionTerms, config: Notifications) -> MessageTexts:
    """Write a message by the templates of users; by ours if theirs fail, so that none is lost."""
    folder = None if config.templates is None else Path(config.templates)
    try:
        return _written(wording, terms, folder)
    except Exception:
        if folder is None:
            raise
        log.exception(
            "templates of %s fail for %s in %s; the message is written by those of duetime",
            folder,
            wording.template,
            terms.language,
        )
        return _written(wording, terms, None)


def _written(wording: MessageSource, terms: SubscriptionTerms, folder: Path | None) -> MessageTexts:
    templates = MessageTemplates(folder, terms.language)
    strings = strings_of(terms.language, folder)
    values = wording.values(strings)
    context: dict[str, Any] = {name: getattr(values, name) for name in MESSAGE_NAMES}
    context[FORMATS] = ReaderFormats(strings.habits, ZoneInfo(terms.zone))
    context["subject"] = _cut(templates.block(wording.template, "subject", context))
    context["advice"] = templates.block(wording.template, "advice", context)
    context["lines"] = [
        templates.block(template, "event", context | {"event": event})
        for template, event in zip(wording.lines, values.events, strict=True)
    ]
    html = templates.html(wording.template, context)
    return MessageTexts(context["subject"], templates.text(context), html)


def _cut(subject: str) -> str:
    return subject if len(subject) <= MAX_SUBJECT else f"{subject[: MAX_SUBJECT - 1]}…"


def _signing_secret(subscription: StoredSubscription, config: Notifications) -> str | None:
    """Return what signs a webhook: the secret of a stored subscription, or that of the app."""
    if subscription.terms.channel != WEBHOOK:
        return None
    if subscription.app is None:
        return subscription.secret
    return None if config.webhook is None else config.webhook.secret


def _masked(event: NotificationEvent, terms: SubscriptionTerms) -> NotificationEvent:
    return NotificationEvent(
        event.at,
        event.topic,
        event.tenant,
        event.subject,
        shown_data(event, terms),
        event.ended,
    )


def _data(
    notification: Notification, terms: SubscriptionTerms, base_url: str | None
) -> dict[str, Any]:
    """Return what a message says, for programs."""
    return {
        "id": str(notification.id),
        "subscription_id": str(notification.subscription_id),
        "severity": str(notification.severity),
        "tenant": notification.tenant,
        "count": notification.count,
        "first_at": notification.first_at.isoformat(),
        "last_at": notification.last_at.isoformat(),
        "link": link_to_page(notification, base_url),
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
