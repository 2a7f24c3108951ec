"""Lanes: the order in which claims visit them starves no tenant and no priority."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from duetime import Priority
from duetime.model.lane import SHARDS, Lane, lane_of, parse_lane, visit_order

QUEUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def lanes(*texts: str) -> list[Lane]:
    return [lane for text in texts if (lane := parse_lane(text)) is not None]


@given(
    queue=QUEUES,
    priority=st.sampled_from(Priority),
    tenant=st.none() | st.text(min_size=1, max_size=30).filter(lambda t: t.isascii()),
    suspect=st.booleans(),
)
def test_a_lane_is_read_back_as_it_was_written(
    queue: str, priority: Priority, tenant: str | None, suspect: bool
) -> None:
    (lane,) = lanes(lane_of(queue, priority.rank, tenant, suspect=suspect))
    assert (lane.queue, lane.priority, lane.suspect) == (queue, priority.rank, suspect)
    assert 0 <= lane.shard < SHARDS


def test_each_priority_leads_in_its_share_of_the_turns() -> None:
    all_four = lanes(*(lane_of("q", p.rank, None) for p in Priority))
    leaders = Counter(visit_order(all_four, turn)[0].priority for turn in range(150))
    shares = {Priority.of_rank(rank): count for rank, count in leaders.items()}
    assert shares == {"critical": 80, "high": 40, "normal": 20, "low": 10}


def test_each_tenant_shard_leads_in_turn() -> None:
    shards = lanes(*(f"1.{shard}.q" for shard in range(SHARDS)))
    leaders = Counter(visit_order(shards, turn)[0].shard for turn in range(8 * SHARDS))
    assert set(leaders.values()) == {8}


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 7))), st.integers(0, 1000))
def test_a_visit_leaves_no_lane_out(pairs: set[tuple[int, int]], turn: int) -> None:
    given = lanes(*(f"{priority}.{shard}.q" for priority, shard in pairs))
    assert sorted(lane.text for lane in visit_order(given, turn)) == sorted(
        lane.text for lane in given
    )
