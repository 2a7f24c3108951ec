"""Deliveries: notifications are sent by a transport, tried again, given up, or not sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from api.apps import Note, url
from duetime import ANY, Action, Duetime, Retry, State
from duetime.errors import InvalidArgument, StoreUnavailable, SubscriptionNotFound
from duetime.model.notifications.subscription import Subscription
from duetime.notifications import (
    AddressGone,
    Message,
    NotDelivered,
    Notifications,
    Refused,
)
from duetime.notifications.links import make_token
from duetime.notifications.sender import SEND_RETRY
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps
from duetime.testing import FakeClock

__all__ = ["url"]


@dataclass
class Pigeon:
    """A transport that keeps what it carried, and fails with what is in `failures`."""

    failures: list[Exception] = field(default_factory=list)
    tried: list[Message] = field(default_factory=list)

    async def send(self, message: Message) -> None:
        self.tried.append(message)
        if self.failures:
            raise self.failures.pop(0)


@pytest.fixture
def pigeon() -> Pigeon:
    return Pigeon()


@pytest.fixture
async def app(url: str, pigeon: Pigeon) -> AsyncIterator[Duetime]:
    """An app whose Note fails, and that notifies by pigeon."""
    config = Notifications(transports={"pigeon": pigeon})
    async with Duetime(url, clock=FakeClock(), notifications=config) as app:

        @app.handler(kind="note", retry=Retry.none())
        async def note(payload: Note) -> None:
            raise ValueError(payload.text)

        yield app


async def subscribed(app: Duetime, **given: Any) -> Subscription:
    arguments: dict[str, Any] = {"via": "pigeon", "to": "roof 7", "show_errors": True}
    return await app.notifications.add("action-failed", **arguments | given)


async def fail(app: Duetime, text: str = "out of paper") -> None:
    """Let an action fail, and what comes of it be done that is due now."""
    await app.schedule(Note(text))
    await app.testing.drain()


async def deliveries(app: Duetime) -> list[Action]:
    page = await app.find(kind="duetime.notify", tenant=ANY, sort="created_at")
    return [*page]


async def test_a_failure_is_sent_to_the_address(app: Duetime, pigeon: Pigeon) -> None:
    subscription = await subscribed(app)
    await fail(app)
    [message] = pigeon.tried
    assert (message.to, message.channel, message.topic) == ("roof 7", "pigeon", "action-failed")
    assert (message.subscription_id, message.count) == (subscription.id, 1)
    assert "out of paper" in message.text
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.result, delivery.queue) == (
        *(State.succeeded, "sent"),
        "duetime",
    )


async def test_a_code_subscription_is_sent_and_stored_once(app: Duetime, pigeon: Pigeon) -> None:
    for _ in range(2):
        app.notifications.subscribe("action-failed", via="pigeon", to="roof 7")
    await fail(app)
    await fail(app)
    [stored] = await app.notifications.subscriptions(tenant=ANY)
    assert (stored.app, stored.all_tenants, stored.state) == ("duetime", True, "active")
    assert len(pigeon.tried) == 1
    await app.testing.advance(minutes=2)
    assert [message.count for message in pigeon.tried] == [1, 1]


async def test_a_message_that_did_not_arrive_is_sent_again(app: Duetime, pigeon: Pigeon) -> None:
    await subscribed(app)
    pigeon.failures = [NotDelivered("rain"), ValueError("hawk")]
    await fail(app)
    assert len(pigeon.tried) == 1
    await app.testing.advance(minutes=5)
    assert len({message.id for message in pigeon.tried}) == 1
    assert len(pigeon.tried) == 3
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.attempt) == (State.succeeded, 3)


async def test_a_store_that_goes_away_after_a_message_sends_no_other(
    app: Duetime, pigeon: Pigeon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The completion of the delivery, which is stored once the store is back, says it was sent."""
    await subscribed(app)
    settle = type(app.store).settle_notification

    def away(store: Store, *given: Any) -> Flow[None]:
        def steps() -> Steps[None]:
            yield from settle(store, *given).start()
            raise StoreUnavailable("the database is away")

        return Flow(steps, Mode.write)

    monkeypatch.setattr(type(app.store), "settle_notification", away)
    await fail(app)
    await app.testing.advance(minutes=5)
    assert len(pigeon.tried) == 1
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.attempt) == (State.succeeded, 1)


async def test_the_other_side_says_when(app: Duetime, pigeon: Pigeon) -> None:
    await subscribed(app)
    pigeon.failures = [NotDelivered("busy", timedelta(hours=2))]
    await fail(app)
    await app.testing.advance(minutes=119)
    assert len(pigeon.tried) == 1
    await app.testing.advance(minutes=1)
    assert len(pigeon.tried) == 2


async def test_a_refused_message_is_given_up(app: Duetime, pigeon: Pigeon) -> None:
    subscription = await subscribed(app)
    pigeon.failures = [Refused("too heavy")]
    await fail(app)
    await app.testing.advance(days=3)
    assert len(pigeon.tried) == 1
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.error) == (State.failed, "too heavy")
    assert (await app.notifications.get(subscription.id)).state == "active"


@pytest.mark.parametrize("kind", [Refused, AddressGone])
async def test_a_reason_that_no_store_can_keep_is_given_up_all_the_same(
    app: Duetime, pigeon: Pigeon, kind: type[Refused] | type[AddressGone]
) -> None:
    subscription = await subscribed(app)
    pigeon.failures = [kind("\ud800\x00" * 5000)]
    await fail(app)
    await app.testing.advance(days=3)
    assert len(pigeon.tried) == 1
    [delivery] = await deliveries(app)
    assert delivery.state is State.failed
    assert len((await app.notifications.get(subscription.id)).end_reason or "") < 5000


async def test_an_address_that_is_gone_ends_the_subscription(app: Duetime, pigeon: Pigeon) -> None:
    subscription = await subscribed(app)
    pigeon.failures = [AddressGone("no roof")]
    await fail(app)
    ended = await app.notifications.get(subscription.id)
    assert (ended.state, ended.end_reason) == ("ended", "no roof")
    await app.testing.advance(minutes=2)
    await fail(app)
    await app.testing.advance(minutes=2)
    assert len(pigeon.tried) == 1


async def test_a_message_is_given_up_after_many_attempts(app: Duetime, pigeon: Pigeon) -> None:
    await subscribed(app)
    pigeon.failures = [NotDelivered("rain") for _ in range(SEND_RETRY.attempts)]
    await fail(app)
    await app.testing.advance(days=3)
    assert len(pigeon.tried) == SEND_RETRY.attempts
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.attempt) == (State.failed, SEND_RETRY.attempts)


async def test_nothing_is_notified_about_a_delivery(app: Duetime, pigeon: Pigeon) -> None:
    await app.notifications.add("*", in_app=True, tenant=ANY)
    await subscribed(app)
    pigeon.failures = [Refused("too heavy")]
    await fail(app)
    await app.testing.advance(minutes=3)
    [notification] = await app.notifications.list(tenant=ANY)
    assert [event.data["kind"] for event in notification.events] == ["note"]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("remove", "its subscription was removed"),
        ("end", "its subscription has ended: its reader unsubscribed"),
        ("mute", "its subscription is muted"),
    ],
)
async def test_what_nobody_wants_any_more_is_not_sent(
    app: Duetime, pigeon: Pigeon, act: str, reason: str
) -> None:
    subscription = await subscribed(app)
    pigeon.failures = [NotDelivered("rain")]
    await fail(app)
    if act == "remove":
        await app.notifications.remove(subscription.id)
    elif act == "mute":
        until = app.clock.now() + timedelta(days=1)
        await app.notifications.mute(subscription.id, until=until)
    else:
        [stored] = await app.store.perform(app.store.subscriptions(ANY))
        await app.notifications.unsubscribe(make_token("unsubscribe", stored))
    await app.testing.advance(minutes=5)
    assert len(pigeon.tried) == 1
    [delivery] = await deliveries(app)
    assert (delivery.state, delivery.result) == (State.succeeded, reason)


async def test_a_muted_subscription_hears_again_after_its_end(app: Duetime, pigeon: Pigeon) -> None:
    subscription = await subscribed(app)
    muted = await app.notifications.mute(
        subscription.id, until=app.clock.now() + timedelta(hours=1)
    )
    assert muted.state == "muted"
    await fail(app)
    await app.testing.advance(hours=2)
    assert pigeon.tried == []
    await fail(app, "again")
    [message] = pigeon.tried
    assert "again" in message.text


async def test_quiet_hours_hold_messages_until_they_end(app: Duetime, pigeon: Pigeon) -> None:
    now = app.clock.now()
    start, end = now - timedelta(hours=1), now + timedelta(hours=1)
    await subscribed(app, quiet=f"{start:%H:%M}-{end:%H:%M}")
    for _ in range(3):
        await fail(app)
        await app.testing.advance(minutes=10)
    assert pigeon.tried == []
    await app.testing.advance(minutes=40)
    assert [message.count for message in pigeon.tried] == [3]


async def test_a_test_message_is_sent_though_nothing_happened(app: Duetime, pigeon: Pigeon) -> None:
    subscription = await subscribed(app)
    asked = await app.notifications.test(subscription.id, by="ann")
    await app.testing.drain()
    [message] = pigeon.tried
    assert (message.id, message.topic) == (asked.id, "test")
    entries = await app.audit.find(subject=subscription.id)
    assert (entries.items[0].verb, entries.items[0].by) == ("test", "ann")


async def test_an_app_without_a_transport_keeps_what_it_cannot_send(
    app: Duetime, pigeon: Pigeon
) -> None:
    """As where a process was started without its configuration: nothing is lost."""
    await subscribed(app)
    other = Duetime(store=app.store, clock=app.clock)
    other.payload(Note, kind="note")

    @other.handler(kind="note", retry=Retry.none())
    async def note(payload: Note) -> None:
        raise ValueError(payload.text)

    await other.schedule(Note())
    await other.testing.drain()
    [delivery] = await deliveries(app)
    assert delivery.state is State.scheduled
    await app.testing.drain()
    assert len(pigeon.tried) == 1


# -- bad input ------------------------------------------------------------------------------------


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "give one of email=, webhook=, in_app=True, and via="),
    ({"in_app": True, "via": "pigeon"}, "give one of email="),
    ({"in_app": True, "to": "x"}, "it goes with via="),
    ({"via": "pigeom"}, "did you mean 'pigeon'"),
    ({"email": "ann@example.org"}, "this app has no such transport"),
    ({"webhook": "https://x.example"}, "this app has no such transport"),
    ({"in_app": True, "language": "de"}, "give one of en, fr"),
    ({"in_app": True, "zone": "Europe/Pari"}, "zone="),
    ({"in_app": True, "minimum": "fatal"}, "give one of info, warning, critical"),
    ({"in_app": True, "quiet": "always"}, "two different times of day"),
    ({"in_app": True, "jobs": ["a\x00"]}, "NUL"),
    ({"in_app": True, "jobs": [""]}, "must not be empty"),
    ({"in_app": True, "kinds": ["k"] * 21}, "20 patterns at the most"),
    ({"in_app": True, "tenant": "t" * 451}, "450 are allowed"),
]


@pytest.fixture
def pigeons(pigeon: Pigeon) -> Iterator[Duetime]:
    config = Notifications(transports={"pigeon": pigeon})
    app = Duetime("memory://", notifications=config)
    yield app
    app.sync.close()


@pytest.mark.parametrize(("given", "message"), BAD)
def test_what_could_never_be_delivered_is_refused(
    pigeons: Duetime, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        pigeons.sync.notifications.add("action-failed", **given)
    if "tenant" not in given:
        with pytest.raises(InvalidArgument, match=message):
            pigeons.notifications.subscribe("action-failed", **given)
    assert pigeons.sync.notifications.subscriptions(tenant=ANY) == []


def test_a_subscription_of_code_is_changed_in_code(pigeons: Duetime) -> None:
    pigeons.notifications.subscribe("overdue", in_app=True)

    async def start() -> None:
        async with pigeons.notifier():
            pass

    asyncio.run(start())
    [stored] = pigeons.sync.notifications.subscriptions(tenant=ANY)
    for act in (pigeons.sync.notifications.change, pigeons.sync.notifications.remove):
        with pytest.raises(InvalidArgument, match="change it there, or mute it"):
            act(stored.id, tenant=ANY)


def test_links_of_others_are_refused(pigeons: Duetime) -> None:
    mine = pigeons.sync.notifications.add("overdue", in_app=True)
    [stored] = pigeons.store.perform_blocking(pigeons.store.subscriptions(ANY))
    confirm = make_token("confirm", stored)
    with pytest.raises(SubscriptionNotFound):
        pigeons.sync.notifications.unsubscribe(confirm)
    with pytest.raises(SubscriptionNotFound):
        pigeons.sync.notifications.unsubscribe(confirm[:-4] + "AAAA")
    for wrong in ("", "x", "x" * 500, "\x00", None):
        with pytest.raises(InvalidArgument, match="open the link of the message as it is"):
            pigeons.sync.notifications.unsubscribe(wrong)  # type: ignore[arg-type]
    assert pigeons.sync.notifications.get(mine.id).state == "active"
    ended = pigeons.sync.notifications.unsubscribe(make_token("unsubscribe", stored))
    assert (ended.state, ended.end_reason) == ("ended", "its reader unsubscribed")


def test_mute_and_change_check_their_arguments(pigeons: Duetime) -> None:
    mine = pigeons.sync.notifications.add("overdue", in_app=True)
    verbs = pigeons.sync.notifications
    with pytest.raises(InvalidArgument, match="in the future"):
        verbs.mute(mine.id, until=pigeons.clock.now() - timedelta(days=1))
    with pytest.raises(InvalidArgument, match="did you mean"):
        verbs.change(mine.id, topics="overdu")  # type: ignore[arg-type]
    changed = verbs.change(mine.id, topics="*", quiet="22:00-07:00", minimum="warning")
    assert (len(changed.topics), changed.quiet, changed.minimum) == (10, "22:00-07:00", "warning")
    assert verbs.change(mine.id, quiet=None).quiet is None
    with pytest.raises(InvalidArgument, match="1 to 1000"):
        verbs.unread(most=0)
    with pytest.raises(InvalidArgument, match="200 ids at the most"):
        verbs.read([mine.id] * 201)
    with pytest.raises(InvalidArgument, match="next_cursor"):
        verbs.list(cursor="x")
