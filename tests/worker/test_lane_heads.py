"""Lane heads: wakes are hints, look-aheads are believed."""

from duetime.model.actions.claim import LaneHead
from duetime.model.lane import lane_of, parse_lane
from duetime.store.flow import Wake
from duetime.worker.claiming.heads import MAX_HINTED_LANES, LaneHeads

LANE, OTHER = lane_of("q", 1, None), lane_of("other", 1, None)
SUSPECTS = lane_of("q", 1, None, suspect=True)
NOW = 10**15


def wake(lane: str, due_at: int = NOW) -> Wake:
    return Wake(lane, due_at, NOW)


def look(heads: LaneHeads, *listed: LaneHead, full: bool = True) -> None:
    heads.look_started()
    heads.look_finished(listed, NOW, full=full)


def test_a_wake_makes_a_lane_known_until_a_look_ahead_does_not_list_it() -> None:
    heads = LaneHeads()
    assert heads.note_wakes([wake(LANE)])
    heads.take_wakes()
    assert dict(heads.items()) == {LANE: NOW}
    look(heads, LaneHead(OTHER, NOW + 5), full=False)
    assert dict(heads.items()) == {LANE: NOW, OTHER: NOW + 5}
    look(heads, LaneHead(OTHER, NOW + 5))
    assert dict(heads.items()) == {OTHER: NOW + 5}


def test_a_wake_that_arrives_during_a_look_ahead_outlives_it() -> None:
    heads = LaneHeads()
    heads.look_started()
    heads.note_wakes([wake(LANE)])
    heads.take_wakes()
    heads.look_finished([], NOW, full=True)
    assert dict(heads.items()) == {LANE: NOW}


def test_wakes_name_a_limited_number_of_lanes_that_no_look_ahead_listed() -> None:
    heads = LaneHeads()
    look(heads, LaneHead(LANE, None))
    hints = [wake(lane_of(f"made-up-{n}", 1, None)) for n in range(3 * MAX_HINTED_LANES)]
    assert not heads.note_wakes(hints), "a look-ahead must list the rest"
    heads.take_wakes()
    assert len(heads.items()) == MAX_HINTED_LANES
    assert heads.note_wakes([wake(LANE)]), "a listed lane needs no hint"
    look(heads)
    look(heads)
    assert not heads.items()
    assert heads.note_wakes(hints[-5:]), "the limit counts from the last look-ahead"


def test_only_look_aheads_make_suspects_known() -> None:
    heads = LaneHeads()
    assert not heads.note_wakes([wake(SUSPECTS)])
    heads.take_wakes()
    assert not heads.items()
    look(heads, LaneHead(SUSPECTS, NOW))
    assert dict(heads.items()) == {SUSPECTS: NOW}


def test_a_wake_with_an_invalid_lane_is_ignored() -> None:
    heads = LaneHeads()
    assert not heads.note_wakes([wake("junk")])
    heads.take_wakes()
    assert not heads.items()


def test_everything_can_be_forgotten() -> None:
    heads = LaneHeads()
    look(heads, LaneHead(LANE, NOW))
    heads.note_wakes([wake(OTHER)])
    assert heads.forget_everything() == sorted([LANE, OTHER])
    heads.take_wakes()
    assert not heads.items()


def test_an_empty_lane_is_drained_from_its_cursor_on() -> None:
    heads = LaneHeads()
    look(heads, LaneHead(LANE, NOW))
    heads.mark_drained([parse_lane(LANE)])
    assert not heads.items()
    assert [*heads.drained_lanes()] == [LANE]
    heads.look_started()
    assert not heads.drained_lanes()
