"""Keys: one unfinished action per tenant and kind, and what happens to the second."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from api.apps import Note, Other
from duetime import Duetime, Fail, State
from duetime.errors import DuplicateKey, IllegalState
from duetime.model.actions.action import NewAction
from duetime.store.flow import Statement, Steps
from duetime.store.sql.flows import add as add_flows
from duetime.testing import FakeClock


async def test_a_taken_key_returns_the_action_that_holds_it(app: Duetime) -> None:
    first = await app.schedule(Note("a"), key="k", delay=60)
    second = await app.schedule(Note("b"), key="k", delay=5)
    assert (first.created, second.created) == (True, False)
    assert (second.id, second.payload, second.due_at) == (first.id, Note("a"), first.due_at)
    assert len(await app.find()) == 1


async def test_a_taken_key_may_replace_a_scheduled_action(app: Duetime, clock: FakeClock) -> None:
    first = await app.schedule(Note("a"), key="k", delay=60, correlation_id="x", by="ann")
    clock.advance(1)
    second = await app.schedule(
        Note("b"), key="k", delay=5, if_exists="replace", queue="q", priority="high", by="bob"
    )
    assert (second.id, second.created) == (first.id, False)
    stored = await app.get(first.id)
    assert (stored.payload, stored.queue, stored.priority) == (Note("b"), "q", "high")
    assert stored.correlation_id is None
    assert (stored.created_by, stored.modified_by, stored.modified_at) == (
        "ann",
        "bob",
        clock.now(),
    )
    assert stored.due_at is not None
    assert (stored.due_at - clock.now()).total_seconds() == 5
    assert len(await app.find()) == 1


async def test_a_replaced_action_runs_once_with_the_new_payload_at_the_new_time(
    app: Duetime,
) -> None:
    ran: list[str] = []

    @app.handler()
    async def note(payload: Note) -> None:
        ran.append(payload.text)

    await app.schedule(Note("old"), key="k", delay=10)
    await app.schedule(Note("new"), key="k", delay=20, if_exists="replace")
    assert await app.testing.advance(15) == 0
    assert await app.testing.advance(60) == 1
    assert ran == ["new"]


async def test_a_taken_key_may_raise_and_name_its_holder(app: Duetime) -> None:
    first = await app.schedule(Note("a"), key="k", delay=60)
    with pytest.raises(DuplicateKey, match=str(first.id)) as caught:
        await app.schedule(Note("b"), key="k", if_exists="raise")
    assert (caught.value.key, caught.value.kind, caught.value.action_id) == ("k", "note", first.id)
    assert [a.payload for a in await app.find()] == [Note("a")]


async def test_a_key_is_free_in_another_tenant_and_another_kind(app: Duetime) -> None:
    actions = [
        await app.schedule(Note(), key="k", if_exists="raise", delay=1),
        await app.schedule(Note(), key="k", if_exists="raise", delay=1, tenant="acme"),
        await app.schedule(Other(), key="k", if_exists="raise", delay=1),
    ]
    assert len({a.id for a in actions}) == 3


async def test_a_key_is_free_again_once_its_action_has_finished(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note) -> None: ...

    done = await app.schedule(Note(), key="k")
    await app.testing.drain()
    cancelled = await app.schedule(Note(), key="k", if_exists="raise")
    await app.cancel(cancelled.id)
    again = await app.schedule(Note(), key="k", if_exists="raise")
    assert len({done.id, cancelled.id, again.id}) == 3


async def test_a_running_action_holds_its_key(app: Duetime) -> None:
    seen: dict[str, object] = {}

    @app.handler()
    async def note(payload: Note) -> None:
        same = await app.schedule(Note("again"), key="k")
        seen["returned"] = (same.created, same.state)
        for mode in ("replace", "raise"):
            try:
                await app.schedule(Note("again"), key="k", if_exists=mode)
            except (IllegalState, DuplicateKey) as error:
                seen[mode] = error

    await app.schedule(Note("first"), key="k")
    await app.testing.drain()
    assert seen["returned"] == (False, State.running)
    assert isinstance(seen["raise"], DuplicateKey)
    assert isinstance(seen["replace"], IllegalState)
    assert seen["replace"].state == "running"


async def test_a_key_used_twice_in_one_call_is_one_action(app: Duetime) -> None:
    first, second = await app.schedule_many(
        [app.request(Note("a"), key="k"), app.request(Note("b"), key="k")]
    )
    assert (first.id, first.created, second.created) == (second.id, True, False)
    assert (await app.get(first.id)).payload == Note("a")


async def test_a_key_replaced_in_one_call_shows_what_is_stored_in_the_end(app: Duetime) -> None:
    first, second = await app.schedule_many(
        [app.request(Note("a"), key="k"), app.request(Note("b"), key="k", delay=9)],
        if_exists="replace",
    )
    stored = await app.get(first.id)
    assert stored.payload == Note("b")
    assert (first.id, first.payload, first.due_at) == (stored.id, Note("b"), stored.due_at)
    assert (second.id, second.payload) == (stored.id, Note("b"))


async def test_retry_is_refused_while_another_action_holds_the_key(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note) -> Fail:
        return Fail("no")

    failed = await app.schedule(Note(), key="k")
    await app.testing.drain()
    holder = await app.schedule(Note(), key="k", delay=60)
    with pytest.raises(DuplicateKey, match=str(holder.id)):
        await app.retry(failed.id)
    assert await app.retry_many(kind="note") == 0
    assert (await app.get(failed.id)).state == "failed"


@pytest.mark.parametrize("count", [1, 3])
async def test_a_holder_that_finishes_between_two_statements_is_ignored(
    durable_url: str, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The action that had the key is gone when it is looked up, after the insertion has failed."""
    app = Duetime(durable_url)
    app.payload(Note, kind="note")
    for n in range(count):
        await app.schedule(Note("first"), key=f"k{n}", delay=60)
    look_up = add_flows._holders

    def too_late(new: Sequence[NewAction]) -> Steps[Any]:
        monkeypatch.setattr(add_flows, "_holders", look_up)
        # In the same transaction on SQLite, where nobody else can write meanwhile.
        yield Statement("delete_scheduled", {"ids": json.dumps([str(item.id) for item in holders])})
        return (yield from look_up(new))

    holders = await app.find()
    monkeypatch.setattr(add_flows, "_holders", too_late)
    requests = [app.request(Note(str(n)), key=f"k{n}", delay=60) for n in range(count)]
    made = await app.schedule_many(requests)
    assert [(action.payload, action.created) for action in made] == [
        (Note(str(n)), True) for n in range(count)
    ]
    assert {action.id for action in await app.find()} == {action.id for action in made}
    await app.aclose()
