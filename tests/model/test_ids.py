"""Ids: time-ordered, unique, also across a fork."""

import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from duetime.model.ids import LOW_BITS, LOW_MASK, TimeOrderedIds
from duetime.testing import FakeClock


def test_ids_are_version_7_and_carry_their_time() -> None:
    clock = FakeClock(datetime(2031, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC))
    id_ = TimeOrderedIds(clock)()
    assert id_.version == 7
    assert id_.variant == "specified in RFC 4122"
    assert id_.int >> 80 == int(clock.now().timestamp() * 1000)


def test_ids_sort_by_creation_whatever_the_clock_does() -> None:
    clock = FakeClock()
    new = TimeOrderedIds(clock)
    ids: list[UUID] = []
    for step in (0, 0, 1, -3600, 0, 3600, 0):
        clock.advance(timedelta(milliseconds=step))
        ids += [new() for _ in range(100)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("left", [5_000, 150, 0])
def test_a_batch_of_ids_sorts_like_single_ones(left: int) -> None:
    """Also if the low bits, with `left` values left, overflow past the variant field."""
    start = (0b10 << LOW_BITS | (LOW_MASK - left)).to_bytes(10)
    new = TimeOrderedIds(FakeClock(), random=lambda _: start)
    ids = [*new.batch(100), new(), *new.batch(100), *new.batch(0), new()]
    assert ids == sorted(ids)
    assert len(set(ids)) == 202
    assert {(id_.version, id_.variant) for id_ in ids} == {(7, "specified in RFC 4122")}
    assert ids == [UUID(int=id_.int) for id_ in ids]
    assert ids[7] == UUID(str(ids[7]))
    assert hash(ids[7]) == hash(UUID(str(ids[7])))


def test_two_generators_in_one_millisecond_create_different_ids() -> None:
    clock = FakeClock()
    first, second = TimeOrderedIds(clock), TimeOrderedIds(clock)
    assert not {first() for _ in range(100)} & {second() for _ in range(100)}


def test_a_forked_process_creates_different_ids() -> None:
    """In the same millisecond, or after the clock was set back, both would continue one count."""
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
