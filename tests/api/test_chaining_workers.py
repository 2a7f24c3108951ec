"""Chains as workers run and settle them, whatever becomes of a worker."""

import asyncio

from api.apps import Note, Other, with_payloads
from api.chain_handlers import REQUIRED_STATES, declare
from duetime import Action, Duetime, Retry, State
from duetime.events.types import ActionCancelled
from duetime.model.actions.claim import Claim, ClaimOrder, Expired, LaneSpan
from duetime.model.actions.completion import Finish, decide_loss
from duetime.model.state import Outcome


async def test_a_worker_runs_a_chain(real_app: Duetime) -> None:
    declare(real_app)
    async with real_app.worker(), asyncio.timeout(20):
        first = await real_app.schedule(Note("works"))
        second = await real_app.schedule(Other(1), after=first)
        third = await real_app.schedule(Other(2), after=second, on="failed")
        last = await real_app.schedule(Other(3), after=third, on="finished")
        done = [await real_app.wait(item.id) for item in (second, third, last)]
    assert [item.state for item in done] == ["succeeded", "cancelled", "succeeded"]
    assert [item.result for item in done] == [
        ["succeeded", "works"],
        None,
        ["cancelled", None],
    ]


async def test_a_worker_settles_a_long_chain(real_app: Duetime) -> None:
    declare(real_app)
    last: Action = await real_app.schedule(Note("fails"), delay=3600)
    head = last
    for number in range(300):
        last = await real_app.schedule(Other(number), after=last)
    async with real_app.worker(), asyncio.timeout(30):
        await real_app.reschedule(head.id, delay=0)
        assert (await real_app.wait(last.id)).state is State.cancelled


async def test_a_worker_emits_events_of_the_children_it_settled(real_app: Duetime) -> None:
    declare(real_app)
    events: asyncio.Queue[ActionCancelled] = asyncio.Queue()
    real_app.on(ActionCancelled, events.put)
    parent = await real_app.schedule(Note("fails"), delay=3600)
    child = await real_app.schedule(Other(), after=parent)
    async with real_app.worker(), asyncio.timeout(20):
        await real_app.reschedule(parent.id, delay=0)
        event = await events.get()
    assert (event.action_id, event.by) == (child.id, "system")
    assert event.reason == (await real_app.get(child.id)).error


async def test_a_worker_killed_before_it_settles_leaves_no_child_behind(
    real_app: Duetime,
) -> None:
    declare(real_app)
    parent = await real_app.schedule(Note("works"))
    children = [await real_app.schedule(Other(), after=parent, on=on) for on in REQUIRED_STATES]
    await end_by_hand(real_app)
    assert [(await real_app.get(child.id)).due_at for child in children] == [None] * 3
    async with real_app.worker(), asyncio.timeout(20):
        done = [await real_app.wait(child.id) for child in children]
    assert [item.state for item in done] == ["succeeded", "cancelled", "succeeded"]


async def test_a_parent_lost_five_times_has_failed(real_app: Duetime) -> None:
    declare(real_app)
    parent = await real_app.schedule(Note("works"))
    children = [await real_app.schedule(Other(), after=parent, on=on) for on in REQUIRED_STATES]
    for _ in range(4):
        await lose(real_app)
    await claim(real_app, lease=1)
    async with real_app.worker(), asyncio.timeout(20):
        done = [await real_app.wait(child.id) for child in children]
    assert (await real_app.get(parent.id)).error == (
        "lost 5 times: each worker that ran it vanished or was cut off"
    )
    assert [item.state for item in done] == ["cancelled", "succeeded", "succeeded"]


async def test_a_parent_that_times_out_has_failed(url: str) -> None:
    async with with_payloads(Duetime(url, lease=5, grace=5)) as app:

        @app.handler(kind="note", retry=Retry.none(), timeout=0.01)
        async def note(payload: Note) -> None:
            await asyncio.Event().wait()

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        parent = await app.schedule(Note())
        children = [await app.schedule(Other(), after=parent, on=on) for on in REQUIRED_STATES]
        async with app.worker(), asyncio.timeout(20):
            done = [await app.wait(child.id) for child in children]
    assert [item.state for item in done] == ["cancelled", "succeeded", "succeeded"]


async def claim(app: Duetime, lease: int = 60_000_000) -> Claim:
    """Claim as a worker does that then vanishes."""
    store = app.store
    lanes = (await store.perform(store.look_ahead())).lanes
    order = ClaimOrder("dead", [LaneSpan(head.lane, 0, 0) for head in lanes], 1, lease)
    [claimed] = (await store.perform(store.claim(order))).claims
    return claimed


async def end_by_hand(app: Duetime) -> None:
    claimed = await claim(app)
    finish = Finish(claimed.id, claimed.token, State.succeeded, Outcome.succeeded)
    assert (await app.store.perform(app.store.complete([finish]))).parents == {claimed.id}


async def lose(app: Duetime) -> None:
    claimed = await claim(app, lease=0)
    expired = Expired(claimed.id, claimed.token, "default", 1, None, claimed.losses)
    rescue = app.store.complete([decide_loss(expired)], rescuing=True)
    assert (await app.store.perform(rescue)).applied == {claimed.id}
