"""Events: emitted after the commit, only of a real change, to every subscriber."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from api.apps import Note
from duetime import (
    ActionCancelled,
    ActionFailed,
    ActionRescheduled,
    ActionSucceeded,
    Cancel,
    Duetime,
    Fail,
    Retry,
    Snooze,
    current_tenant,
)
from duetime.api.operation import Operation, perform
from duetime.errors import DuetimeError
from duetime.events.types import ActionEvent
from duetime.model.filter import Filter
from duetime.testing import FakeClock

ALL: tuple[type[ActionEvent], ...] = (
    ActionSucceeded,
    ActionFailed,
    ActionCancelled,
    ActionRescheduled,
)


def record_events(app: Duetime) -> list[ActionEvent]:
    events: list[ActionEvent] = []
    for event in ALL:
        app.on(event, events.append)
    return events


async def test_each_finish_emits_one_event_with_its_details(app: Duetime) -> None:
    events = record_events(app)

    @app.handler(retry=Retry(delays=[5]))
    async def note(payload: Note) -> object:
        match payload.text:
            case "fails":
                raise ValueError("broken")
            case "cancels":
                return Cancel("not wanted")
        return {"done": payload.text}

    made = {
        text: await app.schedule(Note(text), correlation_id=text, tenant="acme", by="ann")
        for text in ("works", "fails", "cancels")
    }
    await app.testing.advance(60)
    common: dict[str, Any] = {"kind": "note", "tenant": "acme", "by": "ann", "queue": "default"}
    assert sorted(events, key=lambda e: str(e.correlation_id)) == [
        ActionCancelled(
            action_id=made["cancels"].id, correlation_id="cancels", reason="not wanted", **common
        ),
        ActionFailed(
            action_id=made["fails"].id,
            correlation_id="fails",
            error="ValueError: broken",
            **common,
        ),
        ActionSucceeded(
            action_id=made["works"].id, correlation_id="works", result={"done": "works"}, **common
        ),
    ]


async def test_cancel_and_reschedule_events_name_the_actor(app: Duetime, clock: FakeClock) -> None:
    events = record_events(app)
    action = await app.schedule(Note(), delay=60)
    await app.reschedule(action.id, delay=90, by="ann")
    await app.cancel(action.id, by="bob")
    common: dict[str, Any] = {
        "action_id": action.id,
        "kind": "note",
        "tenant": None,
        "correlation_id": None,
        "queue": "default",
    }
    assert events == [
        ActionRescheduled(by="ann", due_at=clock.now() + timedelta(seconds=90), **common),
        ActionCancelled(by="bob", **common),
    ]


async def test_cancelling_many_emits_an_event_for_each(app: Duetime) -> None:
    events = record_events(app)
    ids = {(await app.schedule(Note(), delay=60)).id for _ in range(3)}
    assert await app.cancel_many(kind="note", by="ann") == 3
    assert {(type(e), e.action_id, e.by) for e in events} == {
        (ActionCancelled, id_, "ann") for id_ in ids
    }


async def test_a_verb_that_changes_nothing_emits_no_event(app: Duetime) -> None:
    action = await app.schedule(Note(), key="k")
    await app.cancel(action.id)
    events = record_events(app)
    for verb in (app.cancel(action.id), app.retry(action.id), app.reschedule(action.id, delay=1)):
        with pytest.raises(DuetimeError):
            await verb
    assert await app.cancel_many(kind="note") == 0
    assert await app.retry_many(kind="note") == 0
    assert events == []


async def test_no_event_is_built_while_nobody_subscribes(memory_app: Duetime) -> None:
    built: list[object] = []

    def events_of(stored: object) -> list[ActionEvent]:
        built.append(stored)
        return []

    read = Operation(memory_app.store.find(Filter()), list, events=events_of)
    await perform(read, memory_app.runtime)
    assert built == []
    memory_app.on(ActionCancelled, print)
    await perform(read, memory_app.runtime)
    assert len(built) == 1


async def test_an_attempt_that_does_not_finish_its_action_emits_no_event(app: Duetime) -> None:
    events = record_events(app)

    @app.handler(retry=Retry(delays=[3600]))
    async def note(payload: Note) -> object:
        if payload.text == "fails":
            raise ValueError
        return Snooze(3600)

    await app.schedule(Note("fails"))
    await app.schedule(Note("snoozes"))
    await app.schedule(Note("waits"), delay=60)
    assert await app.testing.drain() == 2
    assert events == []


async def test_a_stop_request_to_a_running_handler_is_no_cancellation(app: Duetime) -> None:
    events = record_events(app)

    @app.handler()
    async def note(payload: Note) -> str:
        await app.cancel(action.id, running=True, by="ann")
        return "went on"

    action = await app.schedule(Note())
    await app.testing.drain()
    assert [type(e) for e in events] == [ActionSucceeded]


async def test_async_and_sync_subscribers_are_both_called(app: Duetime) -> None:
    events: list[str] = []

    async def slowly(event: ActionCancelled) -> None:
        await asyncio.sleep(0)
        events.append("async")

    app.on(ActionCancelled, slowly)
    app.on(ActionCancelled, lambda event: events.append("sync"))
    await app.cancel((await app.schedule(Note(), delay=5)).id)
    assert sorted(events) == ["async", "sync"]
    app.sync.cancel(app.sync.schedule(Note(), delay=5).id)
    assert sorted(events) == ["async", "async", "sync", "sync"]


async def test_a_subscriber_that_raises_affects_no_other(
    app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[ActionEvent] = []

    def broken(event: ActionEvent) -> None:
        raise RuntimeError("subscriber is broken")

    async def broken_too(event: ActionEvent) -> None:
        raise RuntimeError("this one too")

    for subscriber in (broken, broken_too, events.append):
        app.on(ActionCancelled, subscriber)
        app.on(ActionSucceeded, subscriber)

    @app.handler()
    async def note(payload: Note) -> None: ...

    with caplog.at_level(logging.ERROR, "duetime.events"):
        cancelled = await app.cancel((await app.schedule(Note(), delay=5)).id)
        also = app.sync.cancel(app.sync.schedule(Note(), delay=5).id)
        done = await app.schedule(Note())
        await app.testing.drain()
    assert {cancelled.state, also.state} == {"cancelled"}
    assert (await app.get(done.id)).state == "succeeded"
    assert [e.action_id for e in events] == [cancelled.id, also.id, done.id]
    assert caplog.text.count("RuntimeError: subscriber is broken") == 3
    assert caplog.text.count("RuntimeError: this one too") == 3


async def test_a_subscriber_sees_what_was_committed_and_may_use_the_app(app: Duetime) -> None:
    seen: list[object] = []

    async def follow_up(event: ActionSucceeded) -> None:
        seen.append((await app.get(event.action_id)).state)
        if event.result == "first":
            await app.schedule(Note("second"))

    app.on(ActionSucceeded, follow_up)

    @app.handler()
    async def note(payload: Note) -> str:
        return payload.text

    await app.schedule(Note("first"))
    assert await app.testing.drain() == 2
    assert seen == ["succeeded", "succeeded"]


async def test_a_subscriber_acts_as_the_caller_of_the_verb(memory_app: Duetime) -> None:
    seen: list[str | None] = []
    memory_app.on(ActionCancelled, lambda event: seen.append(current_tenant()))
    with memory_app.acting(tenant="acme"):
        await memory_app.cancel((await memory_app.schedule(Note(), delay=5)).id)
        memory_app.sync.cancel(memory_app.sync.schedule(Note(), delay=5).id)
    assert seen == ["acme", "acme"]


async def test_a_worker_emits_events_in_the_process_that_ran_the_handler(real_app: Duetime) -> None:
    events: asyncio.Queue[ActionEvent] = asyncio.Queue()
    for event in ALL:
        real_app.on(event, events.put)

    @real_app.handler(kind="note")
    async def note(payload: Note) -> object:
        return Fail("no") if payload.text == "fails" else "yes"

    async with real_app.worker():
        works = await real_app.schedule(Note("works"))
        first = await asyncio.wait_for(events.get(), 20)
        fails = await real_app.schedule(Note("fails"))
        second = await asyncio.wait_for(events.get(), 20)
    assert isinstance(first, ActionSucceeded)
    assert (first.action_id, first.result) == (works.id, "yes")
    assert isinstance(second, ActionFailed)
    assert (second.action_id, second.error) == (fails.id, "no")
    assert events.empty()
