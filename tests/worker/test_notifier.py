"""Workers turn what happens into notifications: failures, pauses, losses, ill health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from api.apps import Note, Other
from duetime import ANY, Duetime, Retry
from duetime.errors import InvalidArgument
from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import ClaimOrder, LaneSpan, WorkerInfo
from duetime.model.clock import SECOND
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.model.notifications.delivery import NOTIFY_KIND
from duetime.model.notifications.notification import Notification
from duetime.testing import FakeClock
from polling import until


@pytest.fixture
async def app(url: str) -> AsyncIterator[Duetime]:
    """An app that sweeps often; a Note fails, an Other succeeds."""
    async with Duetime(url, lease=2, grace=5, sweep=0.2) as app:

        @app.handler(kind="note", retry=Retry.none())
        async def note(payload: Note) -> None:
            raise ValueError(payload.text)

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        @app.job("0 2 * * *", name="shop-nightly")
        async def nightly() -> None: ...

        yield app


async def notified(app: Duetime, topic: str, count: int = 1) -> list[Notification]:
    """Return the notifications about a topic, once they tell of as many events."""
    found: list[Notification] = []

    async def complete() -> bool:
        page = await app.notifications.list(tenant=ANY, limit=100)
        found[:] = [each for each in page if any(e.topic == topic for e in each.events)]
        return sum(each.count for each in found) >= count

    await until(complete, timeout=60)
    return found


async def test_a_failure_is_notified_at_once(app: Duetime) -> None:
    app.notifications.subscribe("action-failed", in_app=True)
    async with app.worker():
        action = await app.schedule(Note("out of paper"), correlation_id="order:7")
        [notification] = await notified(app, "action-failed")
    [event] = notification.events
    assert event.subject == str(action.id)
    assert event.data == {
        "kind": "note",
        "action_id": str(action.id),
        "correlation_id": "order:7",
        "queue": "default",
        "job": None,
        "error": "ValueError: out of paper",
    }


async def test_failures_are_chosen_by_queue_and_by_job(app: Duetime) -> None:
    await app.notifications.add("action-failed", in_app=True, queues="mail-*", tenant="of-queue")
    await app.notifications.add("action-failed", in_app=True, jobs="shop-*", tenant="of-job")
    async with app.worker():
        for tenant in ("of-queue", "of-job"):
            other = await app.schedule(Note("other"), tenant=tenant)
            await app.wait(other.id, tenant=tenant, timeout=30)
        await app.schedule(Note(), tenant="of-queue", queue="mail-bulk")
        await app.jobs.put("shop-mail", recurrence="0 3 * * *", payload=Note(), tenant="of-job")
        await app.jobs.trigger("shop-mail", tenant="of-job")
        found = await notified(app, "action-failed", 2)
    said = [event.data for each in found for event in each.events]
    assert {(data["queue"], data["job"]) for data in said} == {
        ("mail-bulk", None),
        ("default", "shop-mail"),
    }


async def test_a_storm_of_failures_is_two_notifications_a_minute(url: str) -> None:
    count, clock = 2000, FakeClock()
    async with Duetime(url, clock=clock, sweep=0.2) as app:

        @app.handler(kind="note", retry=Retry.none())
        async def note(payload: Note) -> None:
            raise ValueError(payload.text)

        app.notifications.subscribe("action-failed", in_app=True)
        async with app.worker():
            await app.schedule_many([app.request(Note(str(n))) for n in range(count)])

            async def finished() -> bool:
                return (await app.stats()).failed >= count

            await until(finished, timeout=120)
            await until(lambda: _nothing_waits(app), timeout=60)
            clock.advance(minutes=2)
            found = await app.notifications.list(tenant=ANY)
    assert len(found.items) <= 2
    assert sum(each.count for each in found) == count


async def test_a_pause_is_notified_though_no_worker_lives_yet(app: Duetime) -> None:
    await app.notifications.add("*", in_app=True)
    await app.jobs.put("shop-late", recurrence="0 3 * * *", payload=Other())
    await app.jobs.pause("shop-late", by="max", note="provider down")
    async with app.worker():
        [notification] = await notified(app, "job-paused")
    [event] = notification.events
    assert event.subject == "shop-late"
    assert event.data["by"] == "max"
    assert event.data["note"] == "provider down"


async def test_who_does_not_subscribe_hears_nothing(app: Duetime) -> None:
    await app.notifications.add("job-failing", in_app=True)
    async with app.worker():
        await app.wait(await app.schedule(Note()), timeout=30)
        assert (await app.store.perform(app.store.gather_events(lag=0, limit=10))).taken == 0


async def test_one_tenant_never_gets_another_s(app: Duetime) -> None:
    for tenant in ("a", "b", None):
        await app.notifications.add("action-failed", in_app=True, tenant=tenant)
    async with app.worker():
        for tenant in ("a", "b"):
            await app.wait(await app.schedule(Note(), tenant=tenant), tenant=tenant, timeout=30)
        await notified(app, "action-failed", 2)
    for tenant in ("a", "b"):
        for notification in await app.notifications.list(tenant=tenant):
            assert {event.tenant for event in notification.events} == {tenant}
    assert (await app.notifications.list(tenant=None)).items == []


async def test_a_lost_run_is_notified(app: Duetime) -> None:
    app.notifications.subscribe("action-lost", in_app=True)
    await app.store.perform(app.store.declare_subscriptions([]))
    action = await app.schedule(Other())
    span = LaneSpan(lane_of("default", 1, None), 0, 0)
    order = ClaimOrder("gone", [span], 1, SECOND // 10)
    assert (await app.store.perform(app.store.claim(order))).claims
    async with app.worker():
        [notification] = await notified(app, "action-lost")
    [event] = notification.events
    assert event.subject == str(action.id)
    assert (event.data["kind"], event.data["losses"], event.data["final"]) == ("other", 1, False)


async def test_the_loss_of_a_delivery_is_not_notified(app: Duetime) -> None:
    """The address may be what made its worker vanish: it would hear of itself for ever."""
    await app.notifications.add("action-lost", in_app=True)
    await app.store.perform(app.store.add([new_action(NOTIFY_KIND), new_action("other")], "return"))
    order = ClaimOrder("gone", [LaneSpan(lane_of("default", 1, None), 0, 0)], 2, SECOND // 10)
    assert len((await app.store.perform(app.store.claim(order))).claims) == 2
    async with app.worker():
        [notification] = await notified(app, "action-lost")

        async def rescued() -> bool:
            page = await app.find(kind=NOTIFY_KIND)
            return page.items[0].losses == 1

        await until(rescued, timeout=60)
        await until(lambda: _nothing_waits(app), timeout=60)
        [notification] = await notified(app, "action-lost")
    assert [event.data["kind"] for event in notification.events] == ["other"]


def new_action(kind: str) -> NewAction:
    lane = lane_of("default", 1, None)
    fields = {"tenant": None, "correlation_id": None, "key": None, "due_at": None, "delay": 0}
    return NewAction(
        id=TimeOrderedIds()(),
        kind=kind,
        version=1,
        payload="{}",
        queue="default",
        priority=1,
        lane=lane,
        by="test",
        **fields,  # type: ignore[arg-type]
    )


async def test_no_worker_is_notified_while_none_lives_and_when_one_does(app: Duetime) -> None:
    app.notifications.subscribe("no-worker", in_app=True)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.notifier())
        [notification] = await notified(app, "no-worker")
        assert not notification.events[0].ended
        assert (await app.stats()).overdue == 0
        await stack.enter_async_context(app.worker())

        await until(lambda: _is_over(app), timeout=60)


async def _nothing_waits(app: Duetime) -> bool:
    """Return whether every event was gathered, by whichever process."""
    result = await app.store.perform(app.store.gather_events(lag=SECOND, limit=1000))
    return not result.busy and not result.taken


async def _is_over(app: Duetime) -> bool:
    """Return whether the episode that no worker lives has ended: then there is none to begin."""
    changes = await app.store.perform(app.store.change_episodes([]))
    return not changes.over


async def test_overdue_work_is_notified_unless_its_queue_is_paused(app: Duetime) -> None:
    app.notifications.subscribe("overdue", in_app=True)
    past = app.clock.now() - timedelta(seconds=90)
    await app.queues.pause("paused")
    await app.schedule(Other(), at=past, queue="paused")
    await app.schedule(Other(), at=past, queue="unserved")
    async with app.worker(queues=["default"]):
        [notification] = await notified(app, "overdue")
    [event] = notification.events
    assert (event.subject, event.data["count"]) == ("unserved", 1)
    assert event.data["seconds"] >= 90  # type: ignore[operator]


async def test_a_worker_that_vanished_is_notified(app: Duetime) -> None:
    app.notifications.subscribe("worker-lost", in_app=True)
    gone = WorkerInfo(
        id="gone-1", app="shop", host="far", pid=7, kinds=[], queues=[], concurrency=1, jobs=[]
    )
    await app.store.perform(app.store.sweep(gone, 0, 10))
    async with app.worker():
        [notification] = await notified(app, "worker-lost")
    [event] = notification.events
    assert (event.subject, event.data["host"]) == ("gone-1", "far")


async def test_the_queue_of_deliveries_cannot_be_paused(app: Duetime) -> None:
    with pytest.raises(InvalidArgument, match="cannot be paused: mute subscriptions"):
        await app.queues.pause("duetime")


async def test_a_notifier_runs_nothing_else(app: Duetime) -> None:
    app.notifications.subscribe("job-paused", in_app=True)
    async with app.notifier():
        action = await app.schedule(Other())
        await app.jobs.put("shop-late", recurrence="0 3 * * *", payload=Other())
        await app.jobs.pause("shop-late")
        await notified(app, "job-paused")
        assert (await app.get(action.id)).attempt == 0
        names = [job.name for job in await app.jobs.list()]
        assert names == ["shop-late"]
