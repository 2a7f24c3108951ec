"""A key that an expired action holds is free, also before a worker cancels that action."""

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest

from api.apps import Note, Other
from duetime import ActionCancelled, Duetime, State
from duetime.errors import DuplicateKey
from duetime.model.actions.action import Action
from duetime.testing import FakeClock

MINUTE = timedelta(minutes=1)


@pytest.fixture
async def expired(app: Duetime, clock: FakeClock) -> Action[Note]:
    """An action that has expired, still holds its key, and that no worker has looked at since."""

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    @app.handler(kind="other")
    async def other(payload: Other) -> None: ...

    action = await app.schedule(Note("old"), key="k", expires=clock.now() + MINUTE)
    clock.advance(minutes=2)
    return action


async def test_of_many_with_the_same_key_all_are_the_new_one(
    app: Duetime, clock: FakeClock, expired: Action[Note]
) -> None:
    waits = await app.schedule(Note("wait"), key="w", expires=clock.now() + MINUTE, delay=30)
    requests = [app.request(Note("new"), key=key) for key in ("k", "k", "w", "w")]
    added = await app.schedule_many(requests)
    assert len({action.id for action in added[:2]} | {expired.id}) == 2
    assert {action.id for action in added[2:]} == {waits.id}


@pytest.mark.parametrize("if_exists", ["return", "raise"])
async def test_another_action_is_scheduled_and_runs(
    app: Duetime, clock: FakeClock, expired: Action[Note], if_exists: Literal["return", "raise"]
) -> None:
    expires = clock.now() + MINUTE
    new = await app.schedule(Note("new"), key="k", if_exists=if_exists, expires=expires)
    assert (new.created, new.payload) == (True, Note("new"))
    assert new.id != expired.id
    assert await app.get(kind="note", key="k") == replace(new, created=False)
    await app.testing.drain()
    assert (await app.get(new.id)).result == "new"
    former = await app.get(expired.id)
    assert (former.state, former.cancelled_by) == (State.cancelled, "system")
    assert str(former.error).startswith("expired at ")
    assert await app.runs(expired.id) == []


async def test_children_are_settled_and_subscribers_notified(
    app: Duetime, expired: Action[Note]
) -> None:
    events: list[ActionCancelled] = []
    app.on(ActionCancelled, events.append)
    child = await app.schedule(Other(), after=expired)
    await app.schedule(Note("new"), key="k")
    assert (await app.get(child.id)).state is State.cancelled
    assert [(event.action_id, event.by) for event in events] == [
        (expired.id, "system"),
        (child.id, "system"),
    ]
    assert str(events[0].reason).startswith("expired at ")


async def test_a_durable_subscriber_is_notified_too(app: Duetime, expired: Action[Note]) -> None:
    events: list[ActionCancelled] = []

    async def hear(event: ActionCancelled) -> None:
        events.append(event)

    app.on(ActionCancelled, hear, durable=True)
    await app.schedule(Note("new"), key="k")
    await app.testing.drain()
    assert [event.action_id for event in events] == [expired.id]


async def test_of_many_those_with_other_keys_are_scheduled_once(
    app: Duetime, expired: Action[Note]
) -> None:
    held = await app.schedule(Note("held"), key="held", delay=60)
    keys = ["a", "k", "held", None]
    added = await app.schedule_many(app.request(Note("new"), key=key) for key in keys)
    assert [action.created for action in added] == [True, True, False, True]
    assert added[2].id == held.id
    assert await app.testing.drain() == 3


async def test_an_action_that_may_still_start_keeps_its_key(app: Duetime, clock: FakeClock) -> None:
    """At the very instant, too."""
    first = await app.schedule(Note("first"), key="k", expires=clock.now() + MINUTE)
    clock.advance(minutes=1)
    assert (await app.schedule(Note("second"), key="k")).id == first.id
    with pytest.raises(DuplicateKey):
        await app.schedule(Note("second"), key="k", if_exists="raise")
    assert (await app.get(first.id)).state is State.scheduled


async def test_an_action_that_runs_keeps_its_key(app: Duetime, clock: FakeClock) -> None:
    seen: list[Action[Note]] = []

    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        clock.advance(minutes=2)
        seen.append(await app.schedule(Note("second"), key="k"))
        with pytest.raises(DuplicateKey):
            await app.schedule(Note("third"), key="k", if_exists="raise")

    first = await app.schedule(Note("first"), key="k", expires=clock.now() + MINUTE)
    await app.testing.drain()
    assert [action.id for action in seen] == [first.id]
    assert (await app.get(first.id)).state is State.succeeded


async def test_nothing_happens_if_the_call_is_refused(
    app: Duetime, clock: FakeClock, expired: Action[Note]
) -> None:
    held = await app.schedule(Note("held"), key="held", delay=60)
    requests = [app.request(Note("new"), key=key) for key in ("k", "held")]
    with pytest.raises(DuplicateKey) as refused:
        await app.schedule_many(requests, if_exists="raise")
    assert refused.value.action_id == held.id
    assert (await app.get(expired.id)).state is State.scheduled
