"""One action after another: what a child waits for, and what becomes of it."""

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from api.apps import Note, Other, with_payloads
from api.chain_handlers import REQUIRED_STATES, declare
from duetime import Context, Duetime, Retry, State
from duetime.errors import ActionNotFound, InvalidArgument, WaitTimeout
from duetime.events.types import ActionCancelled, ActionRescheduled
from duetime.model.actions.action import Action
from duetime.testing import FakeClock


@pytest.fixture
async def shop(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app whose notes end as their text says."""
    async with Duetime(url, clock=clock) as app:
        declare(app)
        yield app


async def states(app: Duetime, actions: Iterable[Action]) -> list[str]:
    return [(await app.get(action.id)).state.value for action in actions]


ENDS = {"works": "succeeded", "fails": "failed", "cancels": "cancelled"}


# -- what becomes of a child -------------------------------------------------------------


@pytest.mark.parametrize("text", ENDS)
async def test_a_child_runs_if_its_parent_finished_as_required(shop: Duetime, text: str) -> None:
    parent = await shop.schedule(Note(text), delay=60)
    children = {on: await shop.schedule(Other(), after=parent, on=on) for on in REQUIRED_STATES}
    for on, child in children.items():
        assert (child.state, child.due_at, child.created) == (State.scheduled, None, True)
        assert (child.after, child.on) == (parent.id, on)
    await shop.testing.advance(60)
    assert (await shop.get(parent.id)).state == ENDS[text]
    for on, child in children.items():
        after = await shop.get(child.id)
        if ENDS[text] in REQUIRED_STATES[on]:
            result = text if text == "works" else None
            assert (after.state, after.result) == (State.succeeded, [ENDS[text], result])
        else:
            assert (after.state, after.cancelled_by) == (State.cancelled, "system")
            assert after.error is not None
            assert str(parent.id) in after.error
            assert ENDS[text] in after.error


@pytest.mark.parametrize("text", ENDS)
async def test_a_child_of_a_finished_parent_is_settled_at_once(shop: Duetime, text: str) -> None:
    parent = await shop.schedule(Note(text))
    await shop.testing.drain()
    for on, runs in REQUIRED_STATES.items():
        child = await shop.schedule(Other(), after=parent, on=on)
        met = ENDS[text] in runs
        assert child.state is (State.scheduled if met else State.cancelled)
        assert (child.due_at is not None) == met
        assert child.created
        assert child.payload == Other()


async def test_a_child_requires_success_by_default(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"))
    assert (await shop.schedule(Other(), after=parent)).on == "succeeded"


async def test_a_parent_is_named_by_action_id_or_text(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    for after in (parent, parent.id, str(parent.id)):
        assert (await shop.schedule(Other(), after=after)).after == parent.id


async def test_a_delay_counts_from_the_parents_end(shop: Duetime, clock: FakeClock) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent, delay=timedelta(minutes=5))
    await shop.testing.advance(61)
    ended = (await shop.get(parent.id)).finished_at
    assert ended is not None
    assert (await shop.get(child.id)).due_at == ended + timedelta(minutes=5)
    late = await shop.schedule(Other(), after=parent, delay=timedelta(minutes=5))
    assert late.due_at == ended + timedelta(minutes=5)


async def test_the_later_of_an_instant_and_the_end_counts(shop: Duetime, clock: FakeClock) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    end = clock.now() + timedelta(seconds=60)
    early = await shop.schedule(Other(), after=parent, at=clock.now())
    late = await shop.schedule(Other(), after=parent, at=end + timedelta(hours=1))
    await shop.testing.advance(60)
    assert (await shop.get(early.id)).due_at == end
    assert (await shop.get(late.id)).due_at == end + timedelta(hours=1)


async def test_a_parent_that_is_retried_has_not_finished(url: str, clock: FakeClock) -> None:
    async with with_payloads(Duetime(url, clock=clock)) as app:
        tries = 0

        @app.handler(kind="note", retry=Retry(delays=[60]))
        async def note(payload: Note) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise ConnectionError

        parent = await app.schedule(Note())
        child = await app.schedule(Other(), after=parent, on="finished")
        await app.testing.drain()
        assert (await app.get(child.id)).due_at is None
        await app.testing.advance(60)
        assert (await app.get(child.id)).due_at is not None


async def test_retrying_a_parent_changes_no_settled_child(shop: Duetime) -> None:
    parent = await shop.schedule(Note("fails"))
    unmet = await shop.schedule(Other(1), after=parent)
    met = await shop.schedule(Other(2), after=parent, on="failed")
    await shop.testing.drain()
    await shop.retry(parent.id)
    await shop.testing.drain()
    assert await states(shop, [unmet, met]) == ["cancelled", "succeeded"]
    assert len(await shop.runs(met.id)) == 1


async def test_requests_take_after_and_on(shop: Duetime) -> None:
    parent = await shop.schedule(Note("fails"), delay=5)
    made = await shop.schedule_many(
        [
            shop.request(Other(1), after=parent),
            shop.request(Other(2), after=parent, on="failed", delay=1),
            shop.request(Other(3)),
        ]
    )
    assert [action.due_at is None for action in made] == [True, True, False]
    await shop.testing.advance(10)
    assert await states(shop, made) == ["cancelled", "succeeded", "succeeded"]


def test_sync_verbs_chain_too(url: str) -> None:
    app = with_payloads(Duetime(url))
    parent = app.sync.schedule(Note(), delay=3600)
    child = app.sync.schedule(Other(), after=parent)
    app.sync.cancel(parent.id)
    assert app.sync.get(child.id).state is State.cancelled
    app.sync.close()


# -- reading the parent ------------------------------------------------------------------


async def test_a_handler_without_a_parent_receives_none(shop: Duetime) -> None:
    action = await shop.schedule(Other())
    await shop.testing.drain()
    assert (await shop.get(action.id)).result is None


async def test_a_sync_handler_reads_its_parent(url: str, clock: FakeClock) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note")
        def note(payload: Note, ctx: Context) -> object:
            parent = ctx.sync_parent()
            return None if parent is None else [parent.payload == Note("a"), parent.result]

        first = await app.schedule(Note("a"))
        second = await app.schedule(Note("b"), after=first)
        await app.testing.drain()
        assert (await app.get(second.id)).result == [True, None]


async def test_a_context_made_by_hand_has_no_parent() -> None:
    ctx = Context(action_id=uuid4())
    assert await ctx.parent() is None
    assert ctx.sync_parent() is None


# -- mistakes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on": "failed"}, "name the action to wait for"),
        ({"after": uuid4(), "on": "suceeded"}, "did you mean 'succeeded'"),
        ({"after": uuid4(), "on": "finish"}, "did you mean 'finished'"),
        ({"after": "that one"}, "give an action or its id"),
        ({"after": 7}, "give an action or its id"),
        ({"after": uuid4(), "delay": 1, "at": FakeClock().now()}, "not both"),
    ],
)
async def test_a_wrong_parent_is_reported(
    memory_app: Duetime, given: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        await memory_app.schedule(Note(), **given)  # type: ignore[arg-type]


async def test_an_unknown_parent_is_not_found_and_nothing_is_written(shop: Duetime) -> None:
    unknown = uuid4()
    with pytest.raises(ActionNotFound) as caught:
        await shop.schedule_many([shop.request(Note()), shop.request(Other(), after=unknown)])
    assert caught.value.action_id == unknown
    assert list(await shop.find()) == []


async def test_another_tenants_parent_is_not_found(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), tenant="a")
    for tenant in (None, "b"):
        with pytest.raises(ActionNotFound):
            await shop.schedule(Other(), after=parent, tenant=tenant)
    with shop.acting(tenant="a"):
        assert (await shop.schedule(Other(), after=parent)).tenant == "a"


async def test_no_action_can_come_to_wait_for_itself(shop: Duetime) -> None:
    first = await shop.schedule(Note("works"), key="k", delay=60)
    second = await shop.schedule(Other(), after=first)
    for parent in (first, second):
        with pytest.raises(InvalidArgument, match="neither would ever run"):
            await shop.schedule(Note("works"), key="k", if_exists="replace", after=parent)
    assert (await shop.get(first.id)).due_at == first.due_at


# -- changing what waits -----------------------------------------------------------------


async def test_cancelling_a_parent_settles_its_children(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    children = [await shop.schedule(Other(), after=parent, on=on) for on in REQUIRED_STATES]
    grandchild = await shop.schedule(Other(), after=children[0], on="finished")
    await shop.cancel(parent.id, by="ann")
    assert await states(shop, children) == ["cancelled", "cancelled", "scheduled"]
    assert (await shop.get(grandchild.id)).due_at is not None
    assert (await shop.get(parent.id)).cancelled_by == "ann"


async def test_cancel_many_counts_only_matching_actions(shop: Duetime) -> None:
    parents = [await shop.schedule(Note(), delay=60, correlation_id="c") for _ in range(3)]
    children = [await shop.schedule(Other(), after=parent) for parent in parents]
    assert await shop.cancel_many(correlation_id="c") == 3
    assert await states(shop, children) == ["cancelled"] * 3


async def test_a_waiting_child_can_be_cancelled(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent)
    assert (await shop.cancel(child.id, by="ann")).cancelled_by == "ann"
    await shop.testing.advance(60)
    assert await states(shop, [parent, child]) == ["succeeded", "cancelled"]


async def test_a_rescheduled_child_still_waits(shop: Duetime, clock: FakeClock) -> None:
    events: list[ActionRescheduled] = []
    shop.on(ActionRescheduled, events.append)
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent, delay=5)
    earliest = clock.now() + timedelta(hours=1)
    assert (await shop.reschedule(child.id, at=earliest)).due_at is None
    assert [event.due_at for event in events] == [earliest]
    await shop.testing.advance(60)
    assert (await shop.get(child.id)).due_at == earliest


async def test_a_waiting_child_is_found(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent, correlation_id="c")
    assert [action.id for action in await shop.find(correlation_id="c", state="scheduled")] == [
        child.id
    ]


async def test_a_waiting_child_keeps_its_key(shop: Duetime) -> None:
    first, second = [await shop.schedule(Note("works"), delay=d) for d in (60, 120)]
    child = await shop.schedule(Other(1), after=first, key="k")
    again = await shop.schedule(Other(2), after=second, key="k")
    assert (again.id, again.created, again.after) == (child.id, False, first.id)
    moved = await shop.schedule(Other(3), after=second, on="finished", key="k", if_exists="replace")
    assert (moved.id, moved.after, moved.on) == (child.id, second.id, "finished")
    await shop.testing.advance(60)
    assert (await shop.get(child.id)).due_at is None
    await shop.testing.advance(60)
    assert (await shop.get(child.id)).state is State.succeeded


async def test_replacing_against_a_finished_parent_settles_at_once(shop: Duetime) -> None:
    parent = await shop.schedule(Note("fails"))
    await shop.testing.drain()
    holder = await shop.schedule(Other(1), key="k", delay=60)
    waiting = await shop.schedule(Other(2), after=holder)
    after = await shop.schedule(Other(3), after=parent, key="k", if_exists="replace")
    assert (after.id, after.state, after.created) == (holder.id, State.cancelled, False)
    assert await states(shop, [waiting]) == ["cancelled"]


async def test_waiting_for_a_child_takes_its_parent_and_itself(shop: Duetime) -> None:
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent)
    with pytest.raises(WaitTimeout):
        await shop.wait(child.id, timeout=0)
    await shop.testing.advance(60)
    assert (await shop.wait(child.id, timeout=0)).state is State.succeeded


async def test_settling_a_child_emits_its_cancellation(shop: Duetime) -> None:
    events: list[tuple[UUID, str, str | None]] = []
    shop.on(ActionCancelled, lambda e: events.append((e.action_id, e.by, e.reason)))
    parent = await shop.schedule(Note("works"), delay=60)
    child = await shop.schedule(Other(), after=parent)
    await shop.cancel(parent.id, by="ann")
    failed = await shop.schedule(Note("fails"))
    second = await shop.schedule(Other(), after=failed)
    await shop.testing.drain()
    third = await shop.schedule(Other(), after=failed)
    ended = [await shop.get(item.id) for item in (child, second, third)]
    assert events == [
        (parent.id, "ann", None),
        *[(item.id, "system", item.error) for item in ended],
    ]


# -- many --------------------------------------------------------------------------------


async def test_a_parent_may_have_more_children_than_one_transaction_settles(
    shop: Duetime,
) -> None:
    parent = await shop.schedule(Note("works"))
    await shop.schedule_many(shop.request(Other(i), after=parent) for i in range(1200))
    assert await shop.testing.drain() == 1201


async def test_a_long_chain_falls_with_its_head(clock: FakeClock) -> None:
    async with Duetime("memory://", clock=clock) as app:
        log = declare(app)
        head = await app.schedule(Note("fails"))
        last: Action = head
        for number in range(10_000):
            last = await app.schedule(Other(number), after=last)
        await app.testing.drain()
        assert log.lines == ["fails"]
        assert (await app.get(last.id)).state is State.cancelled
        assert (await app.get(head.id)).state is State.failed
