"""Ids: time-ordered, unique, also across a fork."""

import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from duetime.model.ids import LOW, LOW_BITS, TimeOrderedIds
from duetime.testing import FakeClock


def test_ids_are_version_7_and_carry_their_time() -> None:
    clock = FakeClock(datetime(2031, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC))
    made = TimeOrderedIds(clock)()
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == int(clock.now().timestamp() * 1000)


def test_ids_sort_in_the_order_they_were_made_whatever_the_clock_does() -> None:
    clock = FakeClock()
    new = TimeOrderedIds(clock)
    made: list[UUID] = []
    for step in (0, 0, 1, -3600, 0, 3600, 0):
        clock.advance(timedelta(milliseconds=step))
        made += [new() for _ in range(100)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("left", [5_000, 150, 0])
def test_many_at_once_sort_like_those_made_one_by_one(left: int) -> None:
    """Also where the last bits, with so many left, overflow into those before the variant."""
    start = (0b10 << LOW_BITS | (LOW - left)).to_bytes(10)
    new = TimeOrderedIds(FakeClock(), random=lambda _: start)
    made = [*new.many(100), new(), *new.many(100), *new.many(0), new()]
    assert made == sorted(made)
    assert len(set(made)) == 202
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
    assert made == [UUID(int=one.int) for one in made]
    assert made[7] == UUID(str(made[7]))
    assert hash(made[7]) == hash(UUID(str(made[7])))


def test_two_makers_in_one_millisecond_make_different_ids() -> None:
    clock = FakeClock()
    ones, others = TimeOrderedIds(clock), TimeOrderedIds(clock)
    assert not {ones() for _ in range(100)} & {others() for _ in range(100)}


def test_a_forked_process_makes_ids_of_its_own() -> None:
    """In the same millisecond, or with a clock that was set back, both would count on."""
    new = TimeOrderedIds(FakeClock())
    new()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"".join(new().bytes for _ in range(100)))
        os._exit(0)
    ours = {new() for _ in range(100)}
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    theirs = {UUID(bytes=data[n : n + 16]) for n in range(0, len(data), 16)}
    assert len(theirs) == 100
    assert not ours & theirs
