"""Links of messages: to the pages of what they are about, and to confirm or end a subscription."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Literal, NamedTuple
from urllib.parse import quote
from uuid import UUID

from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import StoredSubscription

LinkPurpose = Literal["confirm", "unsubscribe"]
TOKEN = re.compile(r"(?P<id>[0-9a-f]{32})\.(?P<proof>[A-Za-z0-9_-]{43})")
PAGES_BY_TOPIC = {
    "transition-parked": "/transitions",
    "overdue": "/queues",
    "no-worker": "/workers",
    "worker-lost": "/workers",
}
ALERTS = "/alerts"


class LinkToken(NamedTuple):
    """What a token of a link names: a subscription, and the proof that it comes from its mail."""

    subscription_id: UUID
    proof: bytes


def link_to_act(
    purpose: LinkPurpose, subscription: StoredSubscription, base_url: str | None
) -> str | None:
    """Return the link that confirms or ends a subscription. None without a `base_url`, and for a
    subscription without a secret."""
    if base_url is None or not subscription.secret:
        return None
    return f"{base_url}/{purpose}/{make_token(purpose, subscription)}"


def make_token(purpose: LinkPurpose, subscription: StoredSubscription) -> str:
    proof = base64.urlsafe_b64encode(_proof(purpose, subscription)).decode().rstrip("=")
    return f"{subscription.id.hex}.{proof}"


def read_token(text: str) -> LinkToken | None:
    """Return what a token names; None if it is of another form."""
    found = TOKEN.fullmatch(text)
    if found is None:
        return None
    proof = base64.urlsafe_b64decode(f"{found['proof']}=")
    return LinkToken(UUID(hex=found["id"]), proof)


def is_proven(purpose: LinkPurpose, token: LinkToken, subscription: StoredSubscription) -> bool:
    """Return whether a token was made for this purpose and subscription, in a time that does not
    tell how much of it is right."""
    made = bool(subscription.secret) and token.subscription_id == subscription.id
    return hmac.compare_digest(token.proof, _proof(purpose, subscription)) and made


def _proof(purpose: LinkPurpose, subscription: StoredSubscription) -> bytes:
    # By its address, so that a link to confirm one address does not confirm another.
    signed = f"{purpose} {subscription.id} {subscription.terms.address}"
    return hmac.digest(subscription.secret.encode(), signed.encode(), hashlib.sha256)


def link_to_page(notification: Notification, base_url: str | None) -> str | None:
    """Return the page of what a notification is about; Alerts if that is more than one thing."""
    if base_url is None:
        return None
    paths = {path_of(event) for event in notification.events}
    alone = len(paths) == 1 and notification.count == len(notification.events)
    return f"{base_url}{paths.pop() if alone else ALERTS}"


def link_to_subject(event: NotificationEvent, base_url: str | None) -> str | None:
    return None if base_url is None else f"{base_url}{path_of(event)}"


def path_of(event: NotificationEvent) -> str:
    """Return the path of the page that shows what an event is about."""
    action, job = event.data.get("action_id"), event.data.get("job")
    if event.topic.startswith("action-") and action:
        return f"/actions/{quote(str(action), safe='')}"
    if event.topic.startswith("job-") and job:
        return f"/jobs/{quote(str(job), safe='')}"
    return PAGES_BY_TOPIC.get(event.topic, ALERTS)
