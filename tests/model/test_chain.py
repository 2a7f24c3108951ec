"""What a parent's end means for a child, as plain values."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.chain import End, settled, would_wait_for_itself
from duetime.model.actions.inserted import born
from duetime.model.state import State

PARENT = UUID(int=1)
ENDED_AT = 1_000
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
    return born(new, None, 0)


@pytest.mark.parametrize(
    ("given", "due_at"),
    [
        ({}, ENDED_AT),
        ({"delay": 7}, ENDED_AT + 7),
        ({"at": ENDED_AT - 1}, ENDED_AT),
        ({"at": ENDED_AT + 1}, ENDED_AT + 1),
        ({"at": -5}, ENDED_AT),
    ],
)
def test_a_child_is_due_from_the_end_of_its_parent_on(given: Any, due_at: int) -> None:
    before = child(**given)
    assert before.waits
    after = settled(before, End(State.succeeded, ENDED_AT), NOW)
    assert after == replace(before, due_at=due_at)
    assert not after.waits


@pytest.mark.parametrize("on", ["succeeded", "failed", "finished"])
@pytest.mark.parametrize("state", [State.succeeded, State.failed, State.cancelled])
def test_the_condition_decides(on: str, state: State) -> None:
    after = settled(child(on), End(state, ENDED_AT), NOW)
    if on in ("finished", state):
        assert (after.state, after.due_at) == (State.scheduled, ENDED_AT)
    else:
        assert (after.state, after.cancelled_by) == (State.cancelled, "system")
        assert (after.finished_at, after.modified_by) == (NOW, "system")
        assert after.error == f"its parent {PARENT} is {state.value}, and this action needs it {on}"


@pytest.mark.parametrize("on", ["succeeded", "failed", "finished"])
def test_a_parent_that_is_gone_meets_no_condition(on: str) -> None:
    after = settled(child(on), None, NOW)
    assert after.state is State.cancelled
    assert "pruned" in str(after.error)


def test_who_waits_for_whom_is_followed_upward() -> None:
    one, two, three, far = (UUID(int=n) for n in (1, 2, 3, 9))
    waits_for = {three: two, two: one}.get
    for parent in (one, two, three):
        assert would_wait_for_itself(one, parent, waits_for)
    assert not would_wait_for_itself(far, three, waits_for)
    assert not would_wait_for_itself(three, one, waits_for)


def test_a_circle_that_is_there_already_is_left_again() -> None:
    one, two = UUID(int=1), UUID(int=2)
    assert not would_wait_for_itself(UUID(int=3), one, {one: two, two: one}.get)


def test_a_very_long_line_is_followed_to_its_end() -> None:
    ids = [UUID(int=n) for n in range(20_000)]
    above = dict(zip(ids[1:], ids, strict=False))
    assert would_wait_for_itself(ids[0], ids[-1], above.get)
