"""The page about subscriptions: who hears of what, by which channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from starlette.responses import Response

from duetime.admin.declarations import declaration_of
from duetime.admin.pages.languages import LANGUAGE_NAMES
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.subscription_rights import require_errors, require_transport
from duetime.errors import SubscriptionNotFound
from duetime.model.notifications.subscription import (
    EMAIL,
    IN_APP,
    WEBHOOK,
    CreatedSubscription,
    Subscription,
)
from duetime.model.notifications.topics import CONFIRM_TOPIC, TOPICS, Severity, TopicName
from duetime.model.tenant import ANY

SUBSCRIPTIONS_PAGE = PageTable()

SUBSCRIPTIONS_PATH = "/alerts/subscriptions"
CHANNEL_TEXTS: Mapping[str, str] = {EMAIL: "email", WEBHOOK: "webhook", IN_APP: "in_app"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionsView:
    """The subscriptions that the reader sees, and what new ones may ask for, each by its name."""

    subscriptions: Sequence[Subscription]
    topics: Mapping[str, str]
    channels: Mapping[str, str]
    severities: Mapping[str, str]
    languages: Mapping[str, str]
    chooses_tenant: bool

    def topic_words(self, subscription: Subscription) -> str | None:
        """Name the topics of a subscription; None if those are all."""
        if set(subscription.topics) == set(self.topics):
            return None
        names = (self.topics.get(topic, topic) for topic in subscription.topics)
        return " · ".join(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionFields:
    """What the fields of a form hold: as they were sent, or as the subscription has them."""

    topics: Sequence[str]
    jobs: str
    kinds: str
    queues: str
    minimum: str
    quiet_from: str
    quiet_until: str
    language: str
    zone: str
    show_errors: bool

    @property
    def narrowed(self) -> bool:
        """Whether there is anything in the fields that the form folds."""
        return bool(self.jobs or self.kinds or self.queues or self.quiet_from or self.quiet_until)


@SUBSCRIPTIONS_PAGE.show(SUBSCRIPTIONS_PATH, "subscriptions.manage")
async def show_subscriptions(page: ThisPage) -> Response:
    """The subscriptions; in dialogs the acts on them."""
    return await _shown(page)


@SUBSCRIPTIONS_PAGE.act(SUBSCRIPTIONS_PATH, "subscriptions.manage", on=show_subscriptions)
async def add_subscription(page: ThisPage) -> Response:
    """Make a subscription, and show the secret of a webhook: in this answer only."""
    tenant = page.field("tenant") if page.scope is ANY else None
    made = await page.app.notifications.add(
        _topics(page),
        **_address(page),
        **_terms(page),
        show_errors=bool(_show_errors(page)),
        tenant=tenant or page.scope,
        by=page.by,
        note=page.note,
    )
    if made.secret is None:
        said = "done_ask_to_confirm" if made.state == "unconfirmed" else "done_subscribe"
        return page.done(SUBSCRIPTIONS_PATH, said, address=_name(page, made))
    page.declaration = declaration_of(show_subscriptions)
    return await _shown(page, made)


@SUBSCRIPTIONS_PAGE.act(
    f"{SUBSCRIPTIONS_PATH}/change", "subscriptions.manage", on=show_subscriptions
)
async def change_subscription(page: ThisPage) -> Response:
    """Change what a stored subscription asks for."""
    changed = await page.app.notifications.change(
        _id(page),
        topics=_topics(page),
        **_terms(page),
        show_errors=_show_errors(page),
        **_act(page),
    )
    return _done(page, "done_change_subscription", changed)


@SUBSCRIPTIONS_PAGE.act(f"{SUBSCRIPTIONS_PATH}/mute", "subscriptions.manage", on=show_subscriptions)
async def mute_subscription(page: ThisPage) -> Response:
    """Let a subscription get nothing until an instant."""
    page.required("until")
    muted = await page.app.notifications.mute(_id(page), until=page.instant("until"), **_act(page))
    return _done(page, "done_mute", muted)


@SUBSCRIPTIONS_PAGE.act(
    f"{SUBSCRIPTIONS_PATH}/unmute", "subscriptions.manage", on=show_subscriptions
)
async def unmute_subscription(page: ThisPage) -> Response:
    """Let a subscription get its messages again."""
    unmuted = await page.app.notifications.mute(_id(page), until=None, **_act(page))
    return _done(page, "done_unmute", unmuted)


@SUBSCRIPTIONS_PAGE.act(f"{SUBSCRIPTIONS_PATH}/test", "subscriptions.manage", on=show_subscriptions)
async def send_test(page: ThisPage) -> Response:
    """Send a message to see that a subscription works, or once more the link that confirms it."""
    tested = await page.app.notifications.get(_id(page), tenant=page.scope)
    sent = await page.app.notifications.test(tested.id, **_act(page))
    asked = sent.topic == CONFIRM_TOPIC
    return _done(page, "done_ask_to_confirm" if asked else "done_test_subscription", tested)


@SUBSCRIPTIONS_PAGE.act(
    f"{SUBSCRIPTIONS_PATH}/remove", "subscriptions.manage", on=show_subscriptions
)
async def remove_subscription(page: ThisPage) -> Response:
    """Delete a stored subscription."""
    removed = await page.app.notifications.get(_id(page), tenant=page.scope)
    await page.app.notifications.remove(removed.id, **_act(page))
    return _done(page, "done_remove_subscription", removed)


# -- what the page shows ---------------------------------------------------------------------------


async def _shown(page: FramedPage, made: CreatedSubscription | None = None) -> Response:
    """Show the page, with the secret of a webhook that was just made."""
    view = await _view(page)
    chosen = next((each for each in view.subscriptions if str(each.id) == page.dialog_of), None)
    return page.render(
        "subscriptions.html",
        view=view,
        made=made,
        chosen=chosen,
        fields=_fields(page, chosen),
        name=lambda subscription: _name(page, subscription),
    )


async def _view(page: FramedPage) -> SubscriptionsView:
    rules, names = page.app.runtime.channels, cast("Mapping[str, str]", LANGUAGE_NAMES)
    of_tenant = page.caller.identity.tenant is not None
    # Nobody confirms where transports of the operator's send to.
    channels = [name for name in rules.channels if name in CHANNEL_TEXTS or not of_tenant]
    topics = [
        name
        for name, topic in TOPICS.items()
        if topic.of_tenants or not isinstance(page.scope, str)
    ]
    return SubscriptionsView(
        subscriptions=await page.app.notifications.subscriptions(tenant=page.scope),
        topics={name: page.text(f"topic_{name.replace('-', '_')}") for name in topics},
        channels={channel: _channel_name(page, channel) for channel in channels},
        severities={each.value: page.named("severity", each.value) for each in Severity},
        languages={code: names.get(code, code) for code in rules.languages},
        chooses_tenant=page.scope is ANY,
    )


def _fields(page: FramedPage, chosen: Subscription | None) -> SubscriptionFields:
    """Return what the form is filled in with."""
    if page.problem is not None:
        return _typed_fields(page)
    if chosen is None:
        return SubscriptionFields(
            topics=(),
            jobs="",
            kinds="",
            queues="",
            minimum=Severity.info,
            quiet_from="",
            quiet_until="",
            language=page.language,
            zone=page.zone.name,
            show_errors=False,
        )
    quiet_from, _, quiet_until = (chosen.quiet or "").partition("-")
    return SubscriptionFields(
        topics=chosen.topics,
        jobs=", ".join(chosen.jobs),
        kinds=", ".join(chosen.kinds),
        queues=", ".join(chosen.queues),
        minimum=chosen.minimum,
        quiet_from=quiet_from,
        quiet_until=quiet_until,
        language=chosen.language,
        zone=chosen.zone,
        show_errors=chosen.show_errors,
    )


def _typed_fields(page: FramedPage) -> SubscriptionFields:
    names = ("jobs", "kinds", "queues", "minimum", "quiet_from", "quiet_until", "language", "zone")
    return SubscriptionFields(
        topics=page.form.get("topics", ()),
        show_errors=page.field("show_errors") is not None,
        **{name: page.typed(name) for name in names},
    )


def _name(page: FramedPage, subscription: Subscription) -> str:
    """Name a subscription: by its address, or by its channel if that has none."""
    return subscription.address or _channel_name(page, subscription.channel)


def _channel_name(page: FramedPage, channel: str) -> str:
    known = CHANNEL_TEXTS.get(channel)
    return channel if known is None else page.text(f"channel_{known}")


# -- what forms ask for ----------------------------------------------------------------------------


def _topics(page: FramedPage) -> list[TopicName]:
    return [cast("TopicName", name) for name in page.form.get("topics", ())]


def _address(page: FramedPage) -> dict[str, Any]:
    """Return the arguments that say where messages go."""
    channel, address = page.field("channel") or IN_APP, (page.field("address") or "").strip()
    match channel:
        case "in-app":
            return {"in_app": True}
        case "email":
            return {"email": address}
        case "webhook":
            return {"webhook": address}
    require_transport(page, channel)
    return {"via": channel, "to": address or None}


def _terms(page: FramedPage) -> dict[str, Any]:
    """Return the arguments that a new subscription and a change have in common."""
    start, end = (page.typed(name).strip() for name in ("quiet_from", "quiet_until"))
    return {
        "jobs": _patterns(page, "jobs"),
        "kinds": _patterns(page, "kinds"),
        "queues": _patterns(page, "queues"),
        "minimum": page.required("minimum"),
        "quiet": f"{start}-{end}" if start or end else None,
        "language": page.required("language"),
        "zone": page.required("zone").strip(),
    }


def _patterns(page: FramedPage, name: str) -> list[str]:
    return [pattern.strip() for pattern in page.typed(name).split(",") if pattern.strip()]


def _show_errors(page: FramedPage) -> bool | None:
    """Return whether messages are to have the texts of errors; None if that is none of the
    reader's business, and stays as it is."""
    wanted = page.field("show_errors") is not None
    require_errors(page, wanted)
    return wanted if page.allows("payload.read") else None


def _id(page: FramedPage) -> UUID:
    """Return the id that the form names; what is no UUID is the id of nothing."""
    text = page.required("id")
    try:
        return UUID(text)
    except ValueError:
        raise SubscriptionNotFound(cast("UUID", text)) from None


def _act(page: FramedPage) -> dict[str, Any]:
    return {"tenant": page.scope, "by": page.by, "note": page.note}


def _done(page: FramedPage, said: str, subscription: Subscription) -> Response:
    return page.done(SUBSCRIPTIONS_PATH, said, address=_name(page, subscription))
