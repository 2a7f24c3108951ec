"""How the end of a parent settles a child."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.chain import ParentEnd, settle_child, would_wait_for_itself
from duetime.model.actions.new_actions import new_record
from duetime.model.state import State

PARENT = UUID(int=1)
FINISHED_AT = 1_000
NOW = 5_000


def child(on: str = "succeeded", *, at: int | None = None, delay: int = 0) -> Record:
    new = NewAction(
        id=UUID(int=2),
        kind="mail",
        version=1,
        payload="{}",
        queue="q",
        priority=1,
        tenant=None,
        correlation_id=None,
        key=None,
        lane="1.0.q",
        due_at=at,
        delay=delay if at is None else None,
        by="ann",
        after=PARENT,
        on=on,
    )
    return new_record(new, None, 0)


@pytest.mark.parametrize(
    ("times", "due_at"),
    [
        ({}, FINISHED_AT),
        ({"delay": 7}, FINISHED_AT + 7),
        ({"at": FINISHED_AT - 1}, FINISHED_AT),
        ({"at": FINISHED_AT + 1}, FINISHED_AT + 1),
        ({"at": -5}, FINISHED_AT),
    ],
)
def test_a_child_is_due_from_the_end_of_its_parent_on(times: Any, due_at: int) -> None:
    before = child(**times)
    assert before.waits
    after = settle_child(before, ParentEnd(State.succeeded, FINISHED_AT), NOW)
    assert after == replace(before, due_at=due_at)
    assert not after.waits


@pytest.mark.parametrize("on", ["succeeded", "failed", "finished"])
@pytest.mark.parametrize("state", [State.succeeded, State.failed, State.cancelled])
def test_the_condition_decides(on: str, state: State) -> None:
    after = settle_child(child(on), ParentEnd(state, FINISHED_AT), NOW)
    if on in ("finished", state):
        assert (after.state, after.due_at) == (State.scheduled, FINISHED_AT)
    else:
        assert (after.state, after.cancelled_by) == (State.cancelled, "system")
        assert (after.finished_at, after.modified_by) == (NOW, "system")
        assert after.error == f"its parent {PARENT} is {state.value}, and this action needs it {on}"


@pytest.mark.parametrize("on", ["succeeded", "failed", "finished"])
def test_a_parent_that_is_gone_meets_no_condition(on: str) -> None:
    after = settle_child(child(on), None, NOW)
    assert after.state is State.cancelled
    assert "pruned" in str(after.error)


def test_ancestors_are_followed_upward() -> None:
    first, second, third, other = (UUID(int=n) for n in (1, 2, 3, 9))
    waits_for = {third: second, second: first}.get
    for parent in (first, second, third):
        assert would_wait_for_itself(first, parent, waits_for)
    assert not would_wait_for_itself(other, third, waits_for)
    assert not would_wait_for_itself(third, first, waits_for)


def test_an_existing_cycle_does_not_loop_for_ever() -> None:
    first, second = UUID(int=1), UUID(int=2)
    assert not would_wait_for_itself(UUID(int=3), first, {first: second, second: first}.get)


def test_a_very_long_chain_is_followed_to_its_end() -> None:
    ids = [UUID(int=n) for n in range(20_000)]
    above = dict(zip(ids[1:], ids, strict=False))
    assert would_wait_for_itself(ids[0], ids[-1], above.get)
