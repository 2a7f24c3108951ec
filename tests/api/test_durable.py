"""Durable subscribers: events as actions, inserted in the transaction of the change."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

import pytest

from api.hourly_job import NAME, clock, ticks
from duetime import (
    ActionCancelled,
    ActionFailed,
    ActionRescheduled,
    ActionSucceeded,
    Context,
    Duetime,
    JobFailing,
    JobPaused,
    JobRecovered,
    JobResumed,
    Retry,
    State,
)
from duetime.errors import ConfigError

__all__ = ["clock", "ticks"]


NOTED = "on-action-succeeded-note"


@dataclass(frozen=True)
class Greet:
    name: str


async def of_kind(app: Duetime, kind: str) -> list[Any]:
    """Oldest first."""
    return [action.payload for action in await app.find(kind=kind, limit=200)][::-1]


async def test_a_streak_of_failures_reaches_a_subscriber_that_runs_later(app: Duetime) -> None:
    received: list[Any] = []
    runs = [0]

    def note(event: JobFailing, ctx: Context) -> None:
        received.append((event, ctx.attempt, ctx.by))

    app.on(JobFailing, note, durable=True)
    app.on(JobRecovered, received.append, durable=True, name="note")

    @app.job("0 * * * *", name=NAME, retry=Retry.none(), alert_after=2)
    def report() -> None:
        runs[0] += 1
        if runs[0] < 4:
            raise RuntimeError("no")

    await app.testing.advance(hours=5)
    failing = JobFailing(
        job=NAME, tenant=None, by="system", consecutive_failures=2, error="RuntimeError: no"
    )
    assert received == [(failing, 1, "system"), JobRecovered(job=NAME, tenant=None, by="system")]
    [action] = await app.find(kind="on-job-failing-note")
    assert (action.payload, action.state) == (failing, State.succeeded)


async def test_it_is_retried_like_any_other(app: Duetime, ticks: list[Any]) -> None:
    tries = [0]

    def page(event: JobPaused) -> None:
        tries[0] += 1
        if tries[0] < 3:
            raise RuntimeError("the pager is out of order")

    app.on(JobPaused, page, durable=True, retry=Retry(attempts=3, delay=1), queue="pager")
    await app.testing.drain()
    await app.jobs.pause(NAME, by="ann")
    await app.testing.advance(minutes=5)
    [action] = await app.find(kind="on-job-paused-page")
    assert (tries, action.state, action.queue) == ([3], State.succeeded, "pager")
    assert action.created_by == "ann"


async def test_each_kind_of_event_is_kept_once_for_each_subscriber(
    app: Duetime, ticks: list[Any]
) -> None:
    events = (JobPaused, JobResumed, ActionCancelled, ActionRescheduled)
    for event in (*events, ActionSucceeded, ActionFailed):
        for name in ("one", "other"):
            app.on(event, lambda _: None, durable=True, name=name)

    @app.handler(kind="greet", retry=Retry.none())
    def greet(payload: Greet) -> str:
        if payload.name == "nobody":
            raise ValueError("who?")
        return payload.name

    await app.testing.drain()
    await app.jobs.pause(NAME)
    await app.jobs.pause(NAME)
    await app.jobs.resume(NAME)
    later = await app.schedule(Greet("ann"), delay=60)
    await app.reschedule(later.id, delay=30)
    gone = await app.schedule(Greet("bob"), delay=60, correlation_id="c")
    child = await app.schedule(Greet("eve"), after=gone)
    await app.cancel(gone.id, by="ann")
    failed = await app.schedule(Greet("nobody"))
    behind = await app.schedule(Greet("zoe"), after=failed)
    await app.testing.advance(minutes=5)

    async def kept(kind: str) -> list[Any]:
        first, other = await of_kind(app, f"{kind}-one"), await of_kind(app, f"{kind}-other")
        assert first == other
        return first

    assert len(await kept("on-job-paused")) == len(await kept("on-job-resumed")) == 1
    assert [event.action_id for event in await kept("on-action-rescheduled")] == [later.id]
    succeeded = await kept("on-action-succeeded")
    assert [(event.action_id, event.result) for event in succeeded] == [(later.id, "ann")]
    assert [event.action_id for event in await kept("on-action-failed")] == [failed.id]
    cancelled = {event.action_id: event for event in await kept("on-action-cancelled")}
    assert cancelled.keys() == {gone.id, child.id, behind.id}
    assert (cancelled[gone.id].by, cancelled[gone.id].correlation_id) == ("ann", "c")


async def test_an_end_with_its_effect_is_kept_with_both(tmp_path: Any) -> None:
    """On SQLite the transaction of a handler is the store's own."""
    async with Duetime(f"sqlite:///{tmp_path / 'shop.db'}") as app:
        app.on(ActionSucceeded, lambda _: None, durable=True, name="note")
        app.on(ActionFailed, lambda _: None, durable=True, name="note")

        @app.handler(kind="greet", transactional=True, retry=Retry.none())
        def greet(payload: Greet, db: sqlite3.Connection) -> None:
            db.execute("CREATE TABLE IF NOT EXISTS greeted (name)")
            db.execute("INSERT INTO greeted VALUES (?)", (payload.name,))
            if payload.name == "nobody":
                raise ValueError("who?")

        good, bad = await app.schedule(Greet("ann")), await app.schedule(Greet("nobody"))
        async with app.worker():
            for item in (good, bad):
                await app.wait(item.id, timeout=20)
        [succeeded] = await of_kind(app, "on-action-succeeded-note")
        [failed] = await of_kind(app, "on-action-failed-note")
        assert (succeeded.action_id, failed.action_id) == (good.id, bad.id)


async def test_an_event_that_cannot_be_encoded_blocks_no_other(url: str) -> None:
    """A result that is nested deeper than it can be read again."""
    async with Duetime(url) as app:
        app.on(ActionSucceeded, lambda _: None, durable=True, name="note")

        @app.handler(kind="greet")
        def greet(payload: Greet) -> object:
            deep: list[object] = []
            for _ in range(230):
                deep = [deep]
            return deep if payload.name == "deep" else payload.name

        actions = [await app.schedule(Greet(name)) for name in ("ann", "deep", "bob")]
        async with app.worker():
            for action in actions:
                assert (await app.wait(action.id, timeout=20)).state is State.succeeded
        received = {event.action_id: event.result for event in await of_kind(app, NOTED)}
        assert received == dict(
            zip((action.id for action in actions), ("ann", None, "bob"), strict=True)
        )


def nobody(event: object) -> None: ...


@pytest.mark.parametrize(
    ("event", "function", "options", "said"),
    [
        (JobPaused, lambda _: None, {}, "name="),
        (Greet, nobody, {}, "is not an event"),
        (JobPaused, nobody, {"durable": False, "queue": "pager"}, "durable=True"),
    ],
)
def test_wrong_subscribers_are_refused_where_they_are_declared(
    app: Duetime, event: Any, function: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        app.on(event, function, **{"durable": True, **options})


def test_two_subscribers_of_one_name_are_refused(app: Duetime) -> None:
    app.on(JobPaused, nobody, durable=True)
    with pytest.raises(ConfigError, match="on-job-paused-nobody"):
        app.on(JobPaused, nobody, durable=True)
