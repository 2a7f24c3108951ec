"""Chains in the caller's transaction: parents, children and their settlement come with it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.apps import Note, Other
from duetime import Duetime, State
from duetime.errors import ActionNotFound
from joining.callers import Caller

LATER = datetime(2099, 1, 1, tzinfo=UTC)


async def test_a_chain_exists_once_the_caller_commits(app: Duetime, caller: Caller) -> None:
    parent = await caller.call(app, "schedule", Note(), at=LATER)
    child = await caller.call(app, "schedule", Other(), after=parent, on="finished", delay=5)
    assert (child.due_at, child.after, child.on) == (None, parent.id, "finished")
    await caller.commit()
    assert (await app.get(child.id)).waits


async def test_a_child_falls_with_the_callers_cancel(app: Duetime, caller: Caller) -> None:
    parent = await app.schedule(Note(), at=LATER)
    child = await app.schedule(Other(1), after=parent)
    other = await app.schedule(Other(2), after=child, on="finished")
    await caller.call(app, "cancel", parent.id)
    await caller.commit()
    assert (await app.get(child.id)).state is State.cancelled
    assert (await app.get(other.id)).due_at is not None


async def test_a_rollback_leaves_children_waiting(app: Duetime, caller: Caller) -> None:
    parent = await app.schedule(Note(), at=LATER)
    child = await app.schedule(Other(), after=parent)
    await caller.call(app, "cancel", parent.id)
    await caller.rollback()
    assert (await app.get(child.id)).waits
    assert (await app.get(parent.id)).state is State.scheduled


async def test_a_child_of_a_finished_parent_is_settled_in_the_transaction(
    app: Duetime, caller: Caller
) -> None:
    parent = await app.schedule(Note(), at=LATER)
    await app.cancel(parent.id)
    unmet = await caller.call(app, "schedule", Other(), after=parent)
    met = await caller.call(app, "schedule", Other(), after=parent, on="finished", at=LATER)
    assert (unmet.state, met.due_at) == (State.cancelled, LATER)
    await caller.commit()
    assert (await app.get(unmet.id)).cancelled_by == "system"
    assert (await app.get(met.id)).due_at == LATER


async def test_a_missing_parent_spoils_nothing(app: Duetime, caller: Caller) -> None:
    kept = await caller.call(app, "schedule", Note(), at=LATER)
    unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    with pytest.raises(ActionNotFound):
        await caller.call(app, "schedule", Other(), after=unknown)
    await caller.commit()
    assert [action.id for action in await app.find()] == [kept.id]


async def test_a_waiting_child_is_moved_and_replaced(app: Duetime, caller: Caller) -> None:
    first, second = [await app.schedule(Note(), at=LATER) for _ in range(2)]
    child = await app.schedule(Other(1), after=first, key="k")
    moved = await caller.call(app, "reschedule", child.id, at=LATER)
    assert (moved.due_at, moved.waits) == (None, True)
    replaced = await caller.call(
        app, "schedule", Other(2), after=second, key="k", if_exists="replace"
    )
    await caller.commit()
    assert (replaced.id, (await app.get(child.id)).after) == (child.id, second.id)
