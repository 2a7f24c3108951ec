"""A message on the channel of wakes is a hint from a stranger: what is not ours is refused."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Priority
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT
from duetime.model.lane import PAUSES_LANE, is_lane, job_lane, lane_of, parking_lane
from duetime.store.flow import Wake
from duetime.store.sql.postgres.notify import (
    Notice,
    parse_message,
    ping_message,
    wake_message,
)
from hostile_wakes import LIES, REFUSED, mutated

QUEUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
HOMES = st.builds(
    lambda queue, priority, tenant, suspect: lane_of(queue, priority.rank, tenant, suspect=suspect),
    QUEUES.map(lambda queue: queue[:200]),
    st.sampled_from(Priority),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.booleans(),
)
KINDS = QUEUES.map(lambda kind: kind[:200])
VERSIONS = st.integers(1, 2**31 - 1)
LANES = HOMES | st.builds(parking_lane, KINDS, VERSIONS, HOMES) | st.builds(job_lane, KINDS)
INSTANTS = st.integers(MIN_INSTANT, MAX_INSTANT)


@given(LANES)
def test_each_lane_that_duetime_writes_is_a_lane(lane: str) -> None:
    assert is_lane(lane)


@given(st.lists(st.builds(Wake, LANES, INSTANTS, st.just(0)), max_size=5))
def test_what_duetime_sends_is_understood(wakes: list[Wake]) -> None:
    expected = tuple((wake.lane, wake.due_at) for wake in wakes)
    assert parse_message(wake_message("me", wakes)) in (Notice("me", expected), Notice("me", None))
    assert parse_message(ping_message("me", 7)) == Notice("me", (), 7)


def test_a_pause_is_sent_as_a_reason_to_look() -> None:
    """It names no queue, so that older code understands it, and nothing is believed of it."""
    wakes = [Wake(lane_of("billing", 1, None), 5, 0), Wake(PAUSES_LANE, 5, 5)]
    assert parse_message(wake_message("me", wakes)) == Notice("me", None)
    assert not is_lane(PAUSES_LANE)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_duetime_never_sends_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse_message(text)


@pytest.mark.parametrize("text", LIES.values(), ids=LIES)
def test_a_lie_in_our_form_is_a_hint(text: str) -> None:
    check(parse_message(text))


@given(st.text() | st.randoms(use_true_random=False).map(mutated))
def test_whatever_arrives_is_refused_or_in_our_form(text: str) -> None:
    try:
        notice = parse_message(text)
    except (ValueError, RecursionError):
        return
    check(notice)


def test_damaged_messages_are_of_both_sorts() -> None:
    understood = 0
    for seed in range(500):
        try:
            check(parse_message(mutated(Random(seed))))
            understood += 1
        except (ValueError, RecursionError):
            pass
    assert 10 < understood < 490


def check(notice: Notice) -> None:
    """Check that nothing in the notice can make a statement fail."""
    for lane, due_at in notice.due or ():
        assert is_lane(lane)
        assert type(due_at) is int
        assert -(2**62) < due_at < 2**62
    assert notice.ping is None or 0 <= notice.ping < 2**63
