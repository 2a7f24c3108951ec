"""Notifications: events are gathered, sealed, sent or read in the app, and pruned."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

from duetime.model.notifications.delivery import GatherResult, NotificationFilter
from duetime.model.notifications.episodes import Episode
from duetime.model.notifications.erasing import EventErasure
from duetime.model.notifications.event import NewEvent
from duetime.model.notifications.notification import Notification, as_notification
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.granting import ANN
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.subscribing import subscribe
from duetime.testing.conformance.suite import Suite

LAG = 12 * SECOND
MINUTE_SECONDS = 60


def failure(subject: str = "a-1", tenant: str | None = None, **data: Any) -> NewEvent:
    return NewEvent("action-failed", tenant, subject, {"kind": "mail", "error": "Boom"} | data)


async def happen(probe: Probe, *events: NewEvent) -> None:
    await probe.do(probe.store.add_events(events))


async def gather(probe: Probe, limit: int = 100) -> GatherResult:
    return await probe.do(probe.store.gather_events(lag=LAG, limit=limit))


async def seen(
    probe: Probe, scope: Scope = ANY, reader: str = "ann", **given: Any
) -> list[Notification]:
    wanted = NotificationFilter(scope=scope, reader=reader, **given)
    found = await probe.do(probe.store.notifications(wanted))
    return [as_notification(each.notification, read=each.read) for each in found]


async def errors_of(probe: Probe) -> dict[str, object]:
    """Return what the oldest notification says of errors, by subject."""
    [*_, oldest] = await seen(probe)
    return {event.subject: event.data["error"] for event in oldest.events}


def to_next_minute(probe: Probe) -> None:
    probe.pass_time(MINUTE_SECONDS * SECOND - probe.now % (MINUTE_SECONDS * SECOND))


class Notifying(Suite):
    async def test_without_subscriptions_no_event_is_stored(self, probe: Probe) -> None:
        await happen(probe, failure())
        assert not (await probe.sweep()).events_wait
        await subscribe(probe)
        assert await gather(probe) == GatherResult()

    async def test_a_sweep_says_that_events_wait(self, probe: Probe) -> None:
        await subscribe(probe)
        assert not (await probe.sweep()).events_wait
        await happen(probe, failure())
        assert (await probe.sweep()).events_wait
        await gather(probe)
        assert not (await probe.sweep()).events_wait

    async def test_events_become_a_notification_in_the_app(self, probe: Probe) -> None:
        stored = await subscribe(probe)
        await happen(probe, failure("a-1"), failure("a-2"))
        assert await gather(probe) == GatherResult(2, 1)
        [notification] = await seen(probe)
        assert (notification.count, notification.topic, notification.subscription_id) == (
            *(2, "action-failed"),
            stored.id,
        )
        assert [event.subject for event in notification.events] == ["a-1", "a-2"]
        assert notification.events[0].data == {"kind": "mail", "error": "Boom"}
        assert await probe.find(kinds=("duetime.notify",)) == []

    async def test_a_minute_has_two_notifications_at_most(self, probe: Probe) -> None:
        await subscribe(probe)
        to_next_minute(probe)
        for second in range(5):
            await happen(probe, *[failure(f"a-{second}-{n}") for n in range(100)])
            await gather(probe)
            probe.pass_time(SECOND)
        assert [each.count for each in await seen(probe)] == [100]
        to_next_minute(probe)
        probe.pass_time(LAG)
        assert [each.count for each in await seen(probe)] == [400, 100]
        await happen(probe, failure())
        await gather(probe)
        assert [each.count for each in await seen(probe)] == [1, 400, 100]

    async def test_events_that_are_gathered_late_belong_to_their_minute(self, probe: Probe) -> None:
        await subscribe(probe)
        to_next_minute(probe)
        for _ in range(2):
            await happen(probe, failure())
            await gather(probe)
        await happen(probe, failure())
        to_next_minute(probe)
        await gather(probe)
        probe.pass_time(LAG)
        assert [each.count for each in await seen(probe)] == [2, 1]

    async def test_a_limited_gathering_takes_the_rest_later(self, probe: Probe) -> None:
        await subscribe(probe, channel="webhook", address="https://x.example")
        await happen(probe, *[failure(f"a-{n}") for n in range(5)])
        assert [(await gather(probe, 2)).taken for _ in range(4)] == [2, 2, 1, 0]
        [action] = await probe.find(kinds=("duetime.notify",))
        sealed = await probe.do(probe.store.seal_notification(notification_of(action.payload)))
        assert sealed is not None
        assert sealed.notification.count == 5

    async def test_another_channel_gets_an_action_that_sends(self, probe: Probe) -> None:
        stored = await subscribe(probe, channel="webhook", address="https://x.example")
        await happen(probe, failure())
        await gather(probe)
        [action] = await probe.find(kinds=("duetime.notify",))
        assert (action.queue, action.tenant, action.due_at) == ("duetime", None, probe.now)
        sealed = await probe.do(probe.store.seal_notification(notification_of(action.payload)))
        assert sealed is not None
        assert (sealed.notification.sealed_at, sealed.subscription) == (probe.now, stored)
        assert await seen(probe) == []

    async def test_a_sealed_notification_grows_no_more(self, probe: Probe) -> None:
        await subscribe(probe, channel="webhook", address="https://x.example")
        to_next_minute(probe)
        await happen(probe, failure())
        await gather(probe)
        [first] = await probe.find(kinds=("duetime.notify",))
        await probe.do(probe.store.seal_notification(notification_of(first.payload)))
        await happen(probe, failure(), failure())
        await gather(probe)
        rest, _ = await probe.find(kinds=("duetime.notify",))
        assert rest.due_at == probe.now + MINUTE_SECONDS * SECOND + LAG
        again = await probe.do(probe.store.seal_notification(notification_of(first.payload)))
        last = await probe.do(probe.store.seal_notification(notification_of(rest.payload)))
        assert again is not None
        assert last is not None
        assert (again.notification.count, last.notification.count) == (1, 2)

    async def test_a_notification_is_settled_once_sent_or_given_up(self, probe: Probe) -> None:
        await subscribe(probe, channel="webhook", address="https://x.example")
        await happen(probe, failure())
        await gather(probe)
        [action] = await probe.find(kinds=("duetime.notify",))
        place = notification_of(action.payload)
        await probe.do(probe.store.settle_notification(place, "no such host"))
        sealed = await probe.do(probe.store.seal_notification(place))
        assert sealed is not None
        assert (sealed.notification.error, sealed.notification.sent_at) == ("no such host", None)
        await probe.do(probe.store.settle_notification(place, None))
        sealed = await probe.do(probe.store.seal_notification(place))
        assert sealed is not None
        assert (sealed.notification.error, sealed.notification.sent_at) == (None, probe.now)

    async def test_what_is_not_there_is_neither_sealed_nor_settled(self, probe: Probe) -> None:
        assert await probe.do(probe.store.seal_notification(uuid4())) is None
        await probe.do(probe.store.settle_notification(uuid4(), None))

    async def test_tenants_see_their_own_notifications(self, probe: Probe) -> None:
        for tenant in ("a", "b", None):
            await subscribe(probe, tenant=tenant)
        await subscribe(probe, everywhere=True)
        await happen(probe, failure("1", "a"), failure("2", "b"), failure("3", None))
        await gather(probe)
        for scope, subject in (("a", "1"), ("b", "2"), (None, "3")):
            [notification] = await seen(probe, scope)
            assert [event.subject for event in notification.events] == [subject]
        assert sorted(each.count for each in await seen(probe, ANY)) == [1, 1, 1, 3]

    async def test_read_marks_are_those_of_a_reader(self, probe: Probe) -> None:
        await subscribe(probe)
        for _ in range(3):
            await happen(probe, failure())
            await gather(probe)
            to_next_minute(probe)
        newest, middle, oldest = await seen(probe, None)
        flow = probe.store.read_notifications(None, "ann", [middle.id, uuid4()])
        assert await probe.do(flow) == 1
        assert [each.read for each in await seen(probe, None)] == [False, True, False]
        unread = await seen(probe, None, unread=True, limit=1)
        assert [each.id for each in unread] == [newest.id]
        below = await seen(probe, None, unread=True, below=newest.id)
        assert [each.id for each in below] == [oldest.id]
        assert await probe.do(probe.store.count_unread(None, "ann", 10)) == 2
        assert await probe.do(probe.store.count_unread(None, "ann", 1)) == 1
        assert await probe.do(probe.store.count_unread(None, "max", 10)) == 3
        assert await probe.do(probe.store.read_notifications("a", "ann", None)) == 0
        assert await probe.do(probe.store.read_notifications(None, "ann", None)) == 2
        assert await probe.do(probe.store.count_unread(None, "ann", 10)) == 0

    async def test_episodes_begin_and_end_once(self, probe: Probe) -> None:
        await subscribe(probe, topics=("overdue", "worker-lost"), everywhere=True)
        overdue = Episode("overdue", "billing", {"queue": "billing", "count": 3})
        lost = Episode("worker-lost", "w-1")
        for present, count in (([overdue, lost], 2), ([overdue, lost], 0), ([], 1), ([lost], 1)):
            changes = await probe.do(probe.store.change_episodes(present))
            assert len(changes.events) == count
        await gather(probe)
        [notification] = await seen(probe)
        said = [(event.topic, event.ended) for event in notification.events]
        assert said == [
            *(("overdue", False), ("worker-lost", False)),
            *(("overdue", True), ("worker-lost", False)),
        ]

    async def test_what_is_erased_is_said_no_more(self, probe: Probe) -> None:
        await subscribe(probe, everywhere=True)
        ours = failure("1", "a", correlation_id="order:7")
        others = (failure("2", "a", correlation_id="order:8"), failure("3", "b"))
        for gathering in (True, False):
            await happen(probe, ours, *others)
            if gathering:
                await gather(probe)
        await probe.do(probe.store.erase_events(EventErasure("a", "order:7")))
        assert await errors_of(probe) == {"1": None, "2": "Boom", "3": "Boom"}
        await probe.do(probe.store.erase_events(EventErasure("a")))
        assert await errors_of(probe) == {"1": None, "2": None, "3": "Boom"}
        to_next_minute(probe)
        probe.pass_time(MINUTE_SECONDS * SECOND)
        await gather(probe)
        newest, _ = await seen(probe)
        assert {e.subject: e.data["error"] for e in newest.events} == {
            "1": None,
            "2": None,
            "3": "Boom",
        }

    async def test_old_notifications_and_events_are_pruned(self, probe: Probe) -> None:
        await subscribe(probe)
        await happen(probe, failure())
        await gather(probe)
        await probe.do(probe.store.read_notifications(ANY, "ann", None))
        probe.pass_time(3600 * SECOND)
        await happen(probe, failure())
        keep = 1800 * SECOND
        assert await probe.do(probe.store.prune_notifications(keep=keep, limit=10)) == 1
        assert await seen(probe) == []
        await gather(probe)
        [left] = await seen(probe)
        assert not left.read
        assert await probe.do(probe.store.prune_notifications(keep=keep, limit=10)) == 0

    async def test_a_removed_subscription_hears_no_more(self, probe: Probe) -> None:
        stored = await subscribe(probe)
        await subscribe(probe, topics=("overdue",))
        await happen(probe, failure())
        await probe.do(probe.store.remove_subscription(stored.id, ANY, ANN))
        assert await gather(probe) == GatherResult(1, 0)
        assert await seen(probe) == []


def notification_of(payload: str) -> UUID:
    return UUID(json.loads(payload)["notification"])
