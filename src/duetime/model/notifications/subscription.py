"""Subscriptions: who hears of which topics, by which channel, in which language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from duetime.errors import InvalidArgument
from duetime.model.clock import SECOND, from_micros, maybe_from_micros
from duetime.model.notifications.event import StoredEvent
from duetime.model.notifications.quiet import QuietHours, to_quiet_hours
from duetime.model.notifications.topics import Severity, TopicName
from duetime.model.tenant import ANY, Scope
from duetime.words.languages import LANGUAGES
from duetime.words.phrase import phrase

# The channel whose messages stand on the page Alerts.
IN_APP = "in-app"
EMAIL = "email"
WEBHOOK = "webhook"
# For how long a subscription of code is in force without a process that declares it. Longer than a
# deployment takes.
DECLARED_FOR = 600 * SECOND
MAX_SUBSCRIPTIONS = 200

SubscriptionState = Literal["active", "unconfirmed", "muted", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRules:
    """What the configuration of an app says of channels: which there are, in which languages they
    speak, and which hosts of webhooks need neither TLS nor a global address. What is not `complete`
    says nothing of others: a connected app does not know what its server has."""

    channels: tuple[str, ...] = (IN_APP,)
    languages: tuple[str, ...] = LANGUAGES
    allowed_hosts: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionTerms:
    """What a subscription asks for. `everywhere` means the rows of all tenants; else `tenant`
    names whose, and None those of no tenant. Patterns are those of file names, as `billing-*`."""

    topics: tuple[TopicName, ...]
    channel: str
    # An e-mail address, a URL, or what a transport of the operator's understands.
    address: str = ""
    tenant: str | None = None
    everywhere: bool = False
    jobs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    language: str = "en"
    zone: str = "UTC"
    minimum: Severity = Severity.info
    quiet: str | None = None
    # Whether messages have the texts of errors; else only the class of each.
    show_errors: bool = False

    @property
    def quiet_hours(self) -> QuietHours | None:
        return to_quiet_hours(self.quiet)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubscription:
    """A subscription as a store keeps it. `app` is that whose code declares it; None if people or
    programs stored it. `secret` makes the links of its e-mails, and signs its webhooks."""

    id: UUID
    terms: SubscriptionTerms
    app: str | None
    created_at: int
    created_by: str
    modified_at: int
    modified_by: str
    # When the owner of an e-mail address followed the link; at once for what needs none.
    confirmed_at: int | None = None
    muted_until: int | None = None
    ended_at: int | None = None
    end_reason: str | None = None
    # When a process last declared it, if code does.
    seen_at: int | None = None
    secret: str = field(default="", repr=False)

    def in_force(self, now: int) -> bool:
        """Return whether it may get messages: it is confirmed, not ended, and its code is there."""
        declared = self.app is None or self.seen_at is None or now - self.seen_at < DECLARED_FOR
        return self.confirmed_at is not None and self.ended_at is None and declared

    def muted(self, now: int) -> bool:
        return self.muted_until is not None and now < self.muted_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A subscription as users see it. A webhook's address has no query: it may hold a secret."""

    id: UUID
    topics: tuple[TopicName, ...]
    channel: str
    address: str
    tenant: str | None
    all_tenants: bool
    jobs: tuple[str, ...]
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    language: str
    zone: str
    minimum: Severity
    quiet: str | None
    show_errors: bool
    state: SubscriptionState
    muted_until: datetime | None
    end_reason: str | None
    # The app whose code declares it; None if it is stored.
    app: str | None
    created_at: datetime
    created_by: str
    modified_at: datetime
    modified_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSubscription(Subscription):
    """A new subscription. `secret` verifies the signatures of a stored webhook (`whsec_...`); it is
    not shown again. None for other channels."""

    secret: str | None = field(default=None, repr=False)


def wants(subscription: StoredSubscription, event: StoredEvent, now: int) -> bool:
    """Return whether a subscription is to hear of an event."""
    terms = subscription.terms
    return (
        subscription.in_force(now)
        and not subscription.muted(now)
        and event.topic in terms.topics
        and (terms.everywhere or terms.tenant == event.tenant)
        and event.severity.rank >= terms.minimum.rank
        and _matches(terms, event.data)
    )


def _matches(terms: SubscriptionTerms, data: Mapping[str, object]) -> bool:
    """Return whether an event is about what the patterns name; without patterns, about anything."""
    wanted = {"job": terms.jobs, "kind": terms.kinds, "queue": terms.queues}
    return all(
        not patterns or any(fnmatchcase(str(data.get(name, "")), each) for each in patterns)
        for name, patterns in wanted.items()
    )


def in_scope(subscription: StoredSubscription, scope: Scope) -> bool:
    """Return whether readers of this scope see a subscription: one of all tenants is seen by those
    who see all."""
    return is_seen(scope, subscription.terms.tenant, subscription.terms.everywhere)


def is_seen(scope: Scope, tenant: str | None, everywhere: bool) -> bool:
    if isinstance(scope, str) or scope is None:
        return not everywhere and tenant == scope
    return True


def quiet_until(terms: SubscriptionTerms, now: int) -> int | None:
    """Return when the quiet hours that last now are over; None if there are none now."""
    try:
        hours = terms.quiet_hours
        return None if hours is None else hours.end_after(now, ZoneInfo(terms.zone))
    except (InvalidArgument, ZoneInfoNotFoundError, ValueError, OSError):
        # A zone that this machine does not have, or what a later version wrote: better told now
        # than never, and others must not wait for it.
        return None


def state_of(subscription: StoredSubscription, now: int) -> SubscriptionState:
    if subscription.ended_at is not None:
        return "ended"
    if subscription.confirmed_at is None:
        return "unconfirmed"
    return "muted" if subscription.muted(now) else "active"


def terms_scope(terms: SubscriptionTerms) -> Scope:
    """Return the scope in which the subscriptions are that count together with one of these
    terms."""
    return ANY if terms.everywhere else terms.tenant


def refuse_more_subscriptions(
    terms: SubscriptionTerms, stored: Iterable[StoredSubscription]
) -> None:
    """Raise InvalidArgument if there are as many subscriptions of the same owner as may be: those
    of tenants do not count with those of all tenants."""
    count = sum(1 for each in stored if each.terms.everywhere == terms.everywhere)
    if count >= MAX_SUBSCRIPTIONS:
        remedy = phrase("there are {most} already: remove some", most=MAX_SUBSCRIPTIONS)
        raise InvalidArgument("subscriptions", count, remedy)


def new_subscription(new: StoredSubscription, now: int, by: str) -> StoredSubscription:
    """Return a subscription of people or programs as it is stored: an e-mail address is confirmed
    by its owner, anything else at once."""
    return replace(
        new,
        created_at=now,
        created_by=by,
        modified_at=now,
        modified_by=by,
        confirmed_at=None if new.terms.channel == EMAIL else now,
    )


def confirmed(subscription: StoredSubscription, now: int) -> StoredSubscription:
    """Return the subscription after its owner followed the link; once confirmed it stays so."""
    if subscription.confirmed_at is not None:
        return subscription
    return replace(subscription, confirmed_at=now)


def ended(subscription: StoredSubscription, reason: str, now: int) -> StoredSubscription:
    """Return the subscription without any more messages. The first reason stays."""
    if subscription.ended_at is not None:
        return subscription
    return replace(subscription, ended_at=now, end_reason=reason)


def muted_until(subscription: StoredSubscription, until: int | None) -> StoredSubscription:
    return replace(subscription, muted_until=until)


def snapshot(subscription: StoredSubscription) -> dict[str, object]:
    """Return what an audit entry says of a subscription: nothing of its secret."""
    terms = subscription.terms
    owner: dict[str, object] = {"tenant": terms.tenant, "all_tenants": terms.everywhere}
    return owner | {
        "topics": list(terms.topics),
        "channel": terms.channel,
        "address": shown_address(terms.channel, terms.address),
        "minimum": str(terms.minimum),
        "quiet": terms.quiet,
        "language": terms.language,
        "zone": terms.zone,
        "jobs": list(terms.jobs),
        "kinds": list(terms.kinds),
        "queues": list(terms.queues),
        "muted_until": subscription.muted_until,
        "ended": subscription.end_reason,
    }


def shown_address(channel: str, address: str) -> str:
    """Return an address for people: that of a webhook without its query, where secrets stand."""
    if channel != WEBHOOK:
        return address
    path, query, _ = address.partition("?")
    return f"{path}?..." if query else address


def as_subscription(stored: StoredSubscription, now: int) -> Subscription:
    return Subscription(**_fields(stored, now))


def as_created(stored: StoredSubscription, now: int) -> CreatedSubscription:
    shown = stored.secret if stored.terms.channel == WEBHOOK and stored.app is None else None
    return CreatedSubscription(**_fields(stored, now), secret=shown)


def as_subscriptions(stored: Sequence[StoredSubscription], now: int) -> list[Subscription]:
    return [as_subscription(each, now) for each in stored]


def _fields(stored: StoredSubscription, now: int) -> dict[str, Any]:
    terms = stored.terms
    return {
        "id": stored.id,
        "topics": terms.topics,
        "channel": terms.channel,
        "address": shown_address(terms.channel, terms.address),
        "tenant": terms.tenant,
        "all_tenants": terms.everywhere,
        "jobs": terms.jobs,
        "kinds": terms.kinds,
        "queues": terms.queues,
        "language": terms.language,
        "zone": terms.zone,
        "minimum": terms.minimum,
        "quiet": terms.quiet,
        "show_errors": terms.show_errors,
        "state": state_of(stored, now),
        "muted_until": maybe_from_micros(stored.muted_until),
        "end_reason": stored.end_reason,
        "app": stored.app,
        "created_at": from_micros(stored.created_at),
        "created_by": stored.created_by,
        "modified_at": from_micros(stored.modified_at),
        "modified_by": stored.modified_by,
    }
