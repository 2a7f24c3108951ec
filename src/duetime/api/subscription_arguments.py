"""Checks the arguments of subscriptions to notifications, in code and stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo

from duetime.api.arguments import MAX_NAME_LENGTH, MAX_QUEUE_LENGTH, TenantArgument, to_scope
from duetime.errors import InvalidArgument, InvalidRecurrence
from duetime.model.notifications.quiet import to_quiet_hours
from duetime.model.notifications.subscription import (
    EMAIL,
    IN_APP,
    WEBHOOK,
    ChannelRules,
    SubscriptionTerms,
)
from duetime.model.notifications.topics import TopicName, check_severity, check_topics
from duetime.model.recurrence.zone import zone as check_zone
from duetime.model.validation import check_name
from duetime.notifications.addresses import is_address
from duetime.notifications.targets import ForbiddenTarget, read_target
from duetime.words.phrase import phrase, with_hint

Topics = TopicName | Literal["*"] | Collection[TopicName]
SeverityName = Literal["info", "warning", "critical"]
Patterns = str | Iterable[str]
MAX_ADDRESS_LENGTH = 2000
MAX_PATTERNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionArguments:
    """The arguments of `subscribe` and `add`, as users give them. One of `email`, `webhook`,
    `in_app` and `via` says by which channel."""

    topics: Topics
    email: str | None = None
    webhook: str | None = None
    in_app: bool = False
    via: str | None = None
    to: str | None = None
    jobs: Patterns = ()
    kinds: Patterns = ()
    queues: Patterns = ()
    language: str = "en"
    zone: str = "UTC"
    minimum: SeverityName | str = "info"
    quiet: str | None = None
    show_errors: bool = False


def to_terms(
    given: SubscriptionArguments, tenant: TenantArgument, rules: ChannelRules
) -> SubscriptionTerms:
    """Return what is asked for. InvalidArgument for what could never be delivered."""
    scope = to_scope(tenant)
    owner = scope if isinstance(scope, str) else None
    channel, address = to_channel(given, rules)
    return SubscriptionTerms(
        topics=check_topics(to_names("topics", given.topics), owner),
        channel=channel,
        address=address,
        tenant=owner,
        everywhere=scope is not None and owner is None,
        jobs=to_patterns("jobs", given.jobs),
        kinds=to_patterns("kinds", given.kinds),
        queues=to_patterns("queues", given.queues),
        language=to_language(given.language, rules),
        zone=to_zone(given.zone),
        minimum=check_severity("minimum", given.minimum),
        quiet=to_quiet(given.quiet),
        show_errors=bool(given.show_errors),
    )


def to_channel(given: SubscriptionArguments, rules: ChannelRules) -> tuple[str, str]:
    """Return the channel and the address of a subscription."""
    choices = {
        "email": given.email,
        "webhook": given.webhook,
        "in_app": given.in_app or None,
        "via": given.via,
    }
    named = [name for name, value in choices.items() if value is not None]
    if len(named) != 1:
        remedy = phrase("give one of email=, webhook=, in_app=True, and via= with to=")
        raise InvalidArgument("channel", named or None, remedy)
    if given.to is not None and given.via is None:
        raise InvalidArgument("to", given.to, phrase("it goes with via=, the name of a transport"))
    match named[0]:
        case "email":
            return _known(EMAIL, "email", given.email, rules), _email(given.email)
        case "webhook":
            address = _webhook(given.webhook, rules)
            return _known(WEBHOOK, "webhook", given.webhook, rules), address
        case "in_app":
            return IN_APP, ""
    name = check_name("via", given.via, MAX_QUEUE_LENGTH)
    return _known(name, "via", name, rules), _target(given.to)


def _known(channel: str, argument: str, given: str | None, rules: ChannelRules) -> str:
    if channel in rules.channels or not rules.complete:
        return channel
    remedy = phrase(
        "this app has no such transport: give it to Duetime(notifications=Notifications(...)); "
        "there are {names}",
        names=", ".join(rules.channels),
    )
    raise InvalidArgument(argument, given, with_hint(remedy, channel, rules.channels))


def _email(address: str | None) -> str:
    if address is None or not is_address(address):
        remedy = phrase("give the address of a mailbox, such as ops@example.org")
        raise InvalidArgument("email", address, remedy)
    return address


def _webhook(url: str | None, rules: ChannelRules) -> str:
    text = check_name("webhook", url, MAX_ADDRESS_LENGTH)
    if not rules.complete:
        return text
    try:
        read_target(text, rules.allowed_hosts)
    except ForbiddenTarget as error:
        raise InvalidArgument("webhook", url, str(error)) from None
    return text


def _target(to: str | None) -> str:
    return "" if to is None else check_name("to", to, MAX_ADDRESS_LENGTH)


def to_patterns(argument: str, given: Patterns) -> tuple[str, ...]:
    names = to_names(argument, given)
    if len(names) > MAX_PATTERNS:
        remedy = phrase("give {most} patterns at the most", most=MAX_PATTERNS)
        raise InvalidArgument(argument, len(names), remedy)
    return tuple(check_name(argument, name, MAX_NAME_LENGTH) for name in names)


def to_names(argument: str, given: Any) -> list[Any]:
    """Return what is given as one name, or as several."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable):
        raise InvalidArgument(argument, given, phrase("give a list"))
    return list(given)


def to_language(code: str, rules: ChannelRules) -> str:
    if rules.complete and code not in rules.languages:
        names = ", ".join(rules.languages)
        raise InvalidArgument("language", code, phrase("give one of {names}", names=names))
    return code


def to_zone(name: str) -> str:
    try:
        check_zone(name)
        ZoneInfo(name)
    except (InvalidRecurrence, ValueError, OSError) as error:
        text = getattr(error, "remedy", str(error))
        raise InvalidArgument("zone", name, text) from None
    return name


def to_quiet(value: str | None) -> str | None:
    hours = to_quiet_hours(value)
    return None if hours is None else str(hours)
