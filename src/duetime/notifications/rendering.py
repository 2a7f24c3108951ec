"""Renders notifications as messages: in the language, zone and discretion of a subscription."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from duetime.logs import get_log
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import WEBHOOK, StoredSubscription, SubscriptionTerms
from duetime.model.notifications.topics import CONFIRM_TOPIC
from duetime.notifications.config import Notifications
from duetime.notifications.environment import MessageTemplates
from duetime.notifications.formats import FORMATS, ReaderFormats
from duetime.notifications.links import link_to_act, link_to_page
from duetime.notifications.message import Message
from duetime.notifications.message_data import message_data, shown_data
from duetime.notifications.strings import strings_of
from duetime.notifications.topic_templates import template_of, template_of_event
from duetime.notifications.transport import NotConfigured
from duetime.notifications.values import LineValues, message_values

log = get_log("duetime.notifications")

MAX_SUBJECT = 150


class MessageTexts(NamedTuple):
    """A message in words."""

    subject: str
    text: str
    html: str


class Links(NamedTuple):
    """Where a message leads: to a page, and to what acts for its reader."""

    page: str | None
    unsubscribe: str | None
    confirm: str | None


def render(
    notification: Notification,
    subscription: StoredSubscription,
    *,
    base_url: str | None,
    config: Notifications,
) -> Message:
    """Return the message of a notification for a subscription. NotConfigured for the one that asks
    to confirm an address if there is no `base_url`, since it is nothing but a link."""
    terms = subscription.terms
    links = _links(notification, subscription, base_url)
    texts = _texts(notification, terms, links, base_url, config)
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
        subject=texts.subject,
        text=texts.text,
        html=texts.html,
        link=links.page,
        unsubscribe_link=links.unsubscribe,
        at=notification.last_at,
        events=tuple(
            replace(event, data=shown_data(event, terms)) for event in notification.events
        ),
        data=message_data(notification, terms, links.page),
        secret=_signing_secret(subscription, config),
    )


class NotificationWords(NamedTuple):
    """A notification in words: what it is about, and lines about the events that it lists."""

    subject: str
    lines: tuple[LineValues, ...]
    advice: str


def describe(notification: Notification, terms: SubscriptionTerms) -> NotificationWords:
    """Return what a notification says on the page of a reader, whose language, zone and right to
    the texts of errors are the terms: by templates of ours. The links of lines are paths."""
    values = _values(notification, terms, Links(None, None, None), "", None)
    return _words(MessageTemplates(None, terms.language), notification, values)


def _links(
    notification: Notification, subscription: StoredSubscription, base_url: str | None
) -> Links:
    if notification.topic != CONFIRM_TOPIC:
        unsubscribe = link_to_act("unsubscribe", subscription, base_url)
        return Links(link_to_page(notification, base_url), unsubscribe, None)
    confirm = link_to_act("confirm", subscription, base_url)
    if confirm is None:
        raise NotConfigured(
            "an address cannot be confirmed without a base_url: give the address under which "
            "people reach the dashboard, as Duetime(base_url=...)"
        )
    return Links(confirm, None, confirm)


def _texts(
    notification: Notification,
    terms: SubscriptionTerms,
    links: Links,
    base_url: str | None,
    config: Notifications,
) -> MessageTexts:
    """Write a message by the templates of users; by ours if theirs fail, so that none is lost."""
    if config.templates is None:
        return _written(notification, terms, links, base_url, None)
    folder = Path(config.templates)
    try:
        return _written(notification, terms, links, base_url, folder)
    except Exception:
        log.exception(
            "templates of %s fail for %s in %s; the message is written by those of duetime",
            folder,
            notification.topic,
            terms.language,
        )
        return _written(notification, terms, links, base_url, None)


def _written(
    notification: Notification,
    terms: SubscriptionTerms,
    links: Links,
    base_url: str | None,
    folder: Path | None,
) -> MessageTexts:
    templates = MessageTemplates(folder, terms.language)
    values = _values(notification, terms, links, base_url, folder)
    values |= _words(templates, notification, values)._asdict()
    html = templates.html(template_of(notification), values)
    return MessageTexts(values["subject"], templates.text(values), html)


def _values(
    notification: Notification,
    terms: SubscriptionTerms,
    links: Links,
    base_url: str | None,
    folder: Path | None,
) -> dict[str, Any]:
    strings = strings_of(terms.language, folder)
    values = message_values(notification, terms, strings, links.page, base_url)
    values |= {"unsubscribe_link": links.unsubscribe, "confirm_link": links.confirm}
    return values | {FORMATS: ReaderFormats(strings.habits, ZoneInfo(terms.zone))}


def _words(
    templates: MessageTemplates, notification: Notification, values: dict[str, Any]
) -> NotificationWords:
    template = template_of(notification)
    subject = _cut(templates.block(template, "subject", values))
    values = values | {"subject": subject}
    advice = templates.block(template, "advice", values)
    lines = _lines(notification, templates, values | {"advice": advice})
    return NotificationWords(subject, tuple(lines), advice)


def _lines(
    notification: Notification, templates: MessageTemplates, values: dict[str, Any]
) -> Iterator[LineValues]:
    """Yield a line about each event of which its topic has something to say."""
    for event, event_values in zip(notification.events, values["events"], strict=True):
        text = templates.block(template_of_event(event), "event", values | {"event": event_values})
        if text:
            yield LineValues(text, event_values.link, event.at)


def _cut(subject: str) -> str:
    return subject if len(subject) <= MAX_SUBJECT else f"{subject[: MAX_SUBJECT - 1]}…"


def _signing_secret(subscription: StoredSubscription, config: Notifications) -> str | None:
    """Return what signs a webhook: the secret of a stored subscription, or that of the app."""
    if subscription.terms.channel != WEBHOOK:
        return None
    if subscription.app is None:
        return subscription.secret
    return None if config.webhook is None else config.webhook.secret
